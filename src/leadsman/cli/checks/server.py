"""`leadsman check server`: checks files in an editor."""

from __future__ import annotations

import click

from leadsman.cli.extras import require_extra

EPILOG = """\b
Editors start it themselves. Neovim 0.11:
  vim.lsp.config("leadsman", {
    cmd = { "leadsman", "check", "server" }, filetypes = { "python", "java", "go", "yaml" }
  })
  vim.lsp.enable("leadsman")
"""


@click.command("server", short_help="Check files in an editor: a language server.", epilog=EPILOG)
def command() -> None:
    """Check files in an editor, as `check program` does: a language server on standard input and output.

    A file is checked when it is opened and when it is saved.
    """
    require_extra("lsp", "check server")
    from leadsman.catalogue import every_rule
    from leadsman.gate.language_server import language_server

    language_server(every_rule()).start_io()
