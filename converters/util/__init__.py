"""What every other folder uses: errors, paths, outputs, shapes, progress, child processes."""
