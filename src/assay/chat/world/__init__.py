"""The world an assistant acts in: a weather service, a model, faults, and what users prefer; all of it on loopback."""
