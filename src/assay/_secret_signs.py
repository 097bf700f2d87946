"""Words that a text has if it contains a secret. Looking for plain words is fast, and most texts have none."""

from __future__ import annotations


class Signs:
    """Words of which a text may have one. Those with a rare character are looked for only if the text has that."""

    def __init__(self, *signs: str) -> None:
        self._plain = [sign for sign in signs if sign.isalnum()]
        self._by_character: dict[str, list[str]] = {}
        for sign in signs:
            if not sign.isalnum():
                rare = next(character for character in sign if not character.isalnum())
                self._by_character.setdefault(rare, []).append(sign)

    def any_in(self, text: str) -> bool:
        """Whether a text has one of them. Every text of a run comes through here."""
        if any(map(text.__contains__, self._plain)):
            return True
        found = [signs for rare, signs in self._by_character.items() if rare in text]
        return any(any(map(text.__contains__, signs)) for signs in found)


# A text with none of these, like most answers, contains nothing to hide. Looking for plain words is fast.
SIGNS_OF_SECRETS = Signs(
    "pass", "secret", "token", "key", "auth", "bearer", "basic", "credential", "cookie", "appid", "jwt", "pwd",
    "sig", "session", "sid=", "sid:", 'sid"', "sid'", "pat=", "pat:", 'pat"', "://", "%3", "%2", "----", "-u",
    "--user", "bot",
)  # fmt: skip
SIGNS_OF_KEYS = Signs(
    "sk-", "k_live_", "k_test_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_",
    "gsk_", "r8_", "fw_", "lin_api_", "dop_v1_", "shpat_", "ntn_", "npm_", "lsv2_", "pypi-", "xai-", "pplx-",
    "tvly-", "nvapi-", "AKIA", "ASIA", "AIza", "ya29.", "GOCSPX-", "xox", "xapp-", "SG.", "hvs.", "dapi", "eyJ",
)  # fmt: skip
