"""Where scoring runs. Every engine gives the same tallies, bit for bit: states add up in any order."""
