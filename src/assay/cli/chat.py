"""`assay chat`: placeholder until conversations land."""

import typer

app = typer.Typer()
