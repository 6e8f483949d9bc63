# make demo | test | test-slow | test-all | build | wheel | wheel-portable | wheel-portable-gpl | docs
# make asan | fuzz MINUTES=2 [TARGET=name] | lint | format | bench | release | clean
# TF=2.21.0 picks another TensorFlow, PYTHON=python3.10 the Python of its virtual environment.
TF ?= 2.17.1
PYTHON ?= python3
export TF PYTHON

# All steps share one virtual environment and one build folder.
.NOTPARALLEL:
.PHONY: help setup demo test test-slow test-all build wheel wheel-portable wheel-portable-gpl release docs asan fuzz lint format bench clean

help:
	@sed -n '1,2s/^# //p' Makefile

setup:
	@scripts/setup.sh

demo: setup
	@scripts/demo.sh

test: setup
	@scripts/test.sh

test-slow: setup
	@TESTS=slow scripts/test.sh

test-all: setup
	@TESTS=all scripts/test.sh

build:
	@scripts/build.sh

wheel:
	@scripts/wheel.sh

wheel-portable:
	@scripts/wheel_portable.sh

wheel-portable-gpl:
	@FLAVOUR=portable-gpl scripts/wheel_portable.sh

release:
	@scripts/release.sh

docs:
	@scripts/docs.sh

asan:
	@scripts/asan.sh

fuzz:
	@MINUTES="$(MINUTES)" TARGET="$(TARGET)" scripts/fuzz.sh

lint:
	@scripts/lint.sh

format:
	@scripts/format.sh

bench: setup
	@scripts/bench.sh

clean:
	@scripts/clean.sh
