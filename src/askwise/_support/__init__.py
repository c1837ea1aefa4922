"""What every package may use: documents, frames, HTML, numbers, generators, types."""
