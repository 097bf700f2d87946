"""What came of turns under strain: a model that misbehaves, a user who interrupts, a conversation that grows long."""
