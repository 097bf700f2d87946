"""The embedded environment of an assistant, all on loopback: weather service, scripted model, faults, preferences."""
