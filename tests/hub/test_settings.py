from pathlib import Path

import pytest

from hub.settings import Settings, default_data_dir, environment_secret


def test_settings_can_t_be_changed() -> None:
    with pytest.raises(AttributeError):
        Settings().port = 1  # type: ignore[misc]


def test_data_are_kept_where_the_platform_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_data_dir() == Path("/data/claw-vegas")


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", "/home/ada/.local/share/claw-vegas"),
        ("darwin", "/home/ada/Library/Application Support/claw-vegas"),
        ("win32", "/home/ada/AppData/Local/claw-vegas"),
    ],
)
def test_data_are_kept_in_the_home_directory(
    monkeypatch: pytest.MonkeyPatch, platform: str, expected: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert default_data_dir() == Path(expected)


@pytest.mark.parametrize(("value", "expected"), [("word", "word"), ("", None)])
def test_an_empty_secret_is_none(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: str | None
) -> None:
    monkeypatch.setenv("VEGAS_SECRET", value)
    assert environment_secret() == expected
