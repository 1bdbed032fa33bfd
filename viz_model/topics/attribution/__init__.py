"""Why a token is expected."""
