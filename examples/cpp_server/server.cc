// Loads a model as TensorFlow Serving does, and answers: which labels does a video have?
//
//     cpp_server FOLDER/NAME/1
//
// FOLDER is what `tf-nvcodec deploy tf-serving` has written. The program loads the version with
// LoadSavedModel, runs its warm-up requests and says that it is ready. Then it reads the paths of
// videos from its standard input, one a line, and answers each with a line: the path, the labels
// (or the shapes of the outputs) or what is wrong, and the milliseconds it took, divided by tabs.
//
// tf_nvcodec's ops are linked in, by //tf_nvcodec:serving_ops. There is no Python in this process.

#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/lib/io/record_reader.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/public/session_options.h"

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using tensorflow::Tensor;

constexpr char kSignature[] = "serving_default";
constexpr char kWarmUp[] = "/assets.extra/tf_serving_warmup_requests";

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

// The values of a field of bytes, strings or messages in an encoded message. This spares the
// program the generated code of TensorFlow Serving's messages.
std::vector<std::string> Field(const std::string& message, int number) {
  std::vector<std::string> values;
  CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                         static_cast<int>(message.size()));
  while (const uint32_t tag = input.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
        WireFormatLite::GetTagFieldNumber(tag) != number) {
      if (!WireFormatLite::SkipField(&input, tag)) break;
      continue;
    }
    uint32_t size = 0;
    std::string value;
    if (!input.ReadVarint32(&size) || !input.ReadString(&value, static_cast<int>(size))) break;
    values.push_back(std::move(value));
  }
  return values;
}

class Model {
 public:
  absl::Status Load(const std::string& folder) {
    const tensorflow::SessionOptions options;
    absl::Status status = tensorflow::LoadSavedModel(
        options, tensorflow::RunOptions(), folder, {"serve"}, &bundle_);
    if (!status.ok()) return status;
    const auto& signatures = bundle_.GetSignatures();
    const auto found = signatures.find(kSignature);
    if (found == signatures.end()) return absl::NotFoundError("there is no serving_default");
    signature_ = found->second;
    return absl::OkStatus();
  }

  absl::Status Run(const std::map<std::string, Tensor>& inputs,
                   std::map<std::string, Tensor>* outputs) {
    std::vector<std::pair<std::string, Tensor>> fed;
    for (const auto& [name, tensor] : inputs) {
      const auto found = signature_.inputs().find(name);
      if (found == signature_.inputs().end()) {
        return absl::InvalidArgumentError("the signature has no input " + name);
      }
      fed.emplace_back(found->second.name(), tensor);
    }
    std::vector<std::string> names;
    std::vector<std::string> fetched;
    for (const auto& [name, info] : signature_.outputs()) {
      names.push_back(name);
      fetched.push_back(info.name());
    }
    std::vector<Tensor> tensors;
    absl::Status status = bundle_.GetSession()->Run(fed, fetched, {}, &tensors);
    for (size_t i = 0; i < tensors.size(); ++i) (*outputs)[names[i]] = tensors[i];
    return status;
  }

  // Runs the requests that the server runs before it takes others: records of PredictionLog, whose
  // field 6 is a PredictLog, whose field 1 is a PredictRequest, whose field 2 is the map of inputs.
  absl::Status WarmUp(const std::string& path, int* count) {
    std::unique_ptr<tensorflow::RandomAccessFile> file;
    if (!tensorflow::Env::Default()->FileExists(path).ok()) return absl::OkStatus();
    absl::Status status = tensorflow::Env::Default()->NewRandomAccessFile(path, &file);
    if (!status.ok()) return status;
    tensorflow::io::SequentialRecordReader reader(file.get());
    tensorflow::tstring record;
    while (reader.ReadRecord(&record).ok()) {
      std::map<std::string, Tensor> inputs;
      for (const std::string& log : Field(record, 6)) {
        for (const std::string& request : Field(log, 1)) {
          for (const std::string& entry : Field(request, 2)) {
            const std::vector<std::string> key = Field(entry, 1);
            const std::vector<std::string> value = Field(entry, 2);
            tensorflow::TensorProto proto;
            if (key.size() != 1 || value.size() != 1 || !proto.ParseFromString(value[0]) ||
                !inputs[key[0]].FromProto(proto)) {
              return absl::DataLossError("a warm-up request can't be read");
            }
          }
        }
      }
      std::map<std::string, Tensor> outputs;
      status = Run(inputs, &outputs);
      if (!status.ok()) return status;
      ++*count;
    }
    return absl::OkStatus();
  }

  const std::string& Input() const { return signature_.inputs().begin()->first; }

 private:
  tensorflow::SavedModelBundle bundle_;
  tensorflow::SignatureDef signature_;
};

std::string Answer(Model& model, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "no such file";
  Tensor contents(tensorflow::DT_STRING, {1});
  contents.flat<tensorflow::tstring>()(0) =
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  std::map<std::string, Tensor> outputs;
  const absl::Status ran = model.Run({{model.Input(), contents}}, &outputs);
  if (!ran.ok()) return std::string(ran.message());
  const auto status = outputs.find("status");
  if (status != outputs.end() && !status->second.flat<tensorflow::tstring>()(0).empty()) {
    return status->second.flat<tensorflow::tstring>()(0);
  }
  std::string answer;
  const auto labels = outputs.find("labels");
  if (labels != outputs.end()) {
    const auto names = labels->second.flat<tensorflow::tstring>();
    for (int i = 0; i < names.size(); ++i) answer += (i ? "," : "") + std::string(names(i));
    return answer;
  }
  for (const auto& [name, tensor] : outputs) {
    answer += (answer.empty() ? "" : " ") + name + tensor.shape().DebugString();
  }
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: cpp_server FOLDER/NAME/VERSION\n";
    return 2;
  }
  const std::string folder = argv[1];
  auto start = std::chrono::steady_clock::now();
  Model model;
  int count = 0;
  absl::Status status = model.Load(folder);
  if (status.ok()) status = model.WarmUp(folder + kWarmUp, &count);
  if (!status.ok()) {
    std::cerr << folder << ": " << status.message() << "\n";
    return 1;
  }
  std::cout << "ready\t" << count << " warm-up requests\t" << MillisecondsSince(start) << " ms"
            << std::endl;
  for (std::string path; std::getline(std::cin, path);) {
    start = std::chrono::steady_clock::now();
    const std::string answer = Answer(model, path);
    std::cout << path << "\t" << answer << "\t" << MillisecondsSince(start) << " ms" << std::endl;
  }
  return 0;
}
