"""What the bundled assistants share, whatever their framework: instructions, model client, spans."""
