"""What is told beside results: times, this machine, progress."""
