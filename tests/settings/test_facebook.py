"""Files of ads: the facts of the paper's, a corpus of broken ones, and the kept copy."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from ads import the_file

from bursar.cli.simulate import facebook_ads
from bursar.errors import InvalidData, MissingData
from bursar.files import data_folder
from bursar.settings import facebook, setting

HEADER = "campaign_id,age,gender,clicks,spent,total_conversion"
GOOD = f"{HEADER}\n9,30-34,M,10,5.0,2\n9,30-34,M,4,1.0,4\n9,35-39,F,3,6,0\n9,35-39,F,6,6,3\n"
SHIFTED = "age or gender is something else (shifted columns)"


def refused(data: bytes | str) -> str:
    with pytest.raises(InvalidData) as caught:
        facebook.parse(data.encode() if isinstance(data, str) else data, "ads.csv")
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def test_the_papers_file():
    ads = facebook.load(the_file())
    assert len(ads) == 545
    assert int((ads.reward == 0.0).sum()) == 2
    campaigns = ads.campaigns()
    assert sorted(c.arms for c in campaigns) == [
        2, 3, 3, 3, 4, 6, 7, 9, 21, 23, 24, 33, 34, 38, 54, 54, 57, 77, 93,
    ]  # fmt: skip
    assert campaigns[0].name == "916/30-34/F"
    assert campaigns[-1].name == "1178/45-49/M"
    assert ads.left_out.counts == {
        "more conversions than clicks": 13,
        "no clicks": 203,
        SHIFTED: 382,
    }
    assert ads.left_out.lines[SHIFTED] == [763, 764, 765, 766, 767]
    assert len(ads) + sum(ads.left_out.counts.values()) == 1143
    for campaign in campaigns:
        assert campaign.reward.max() == campaign.cost.max() == 0.99
        assert (campaign.reward > 0).all()
        assert (np.diff(campaign.reward / campaign.cost) <= 1e-12).all()


def test_rates_a_click_and_scaled_means():
    ads = facebook.parse(GOOD.encode())
    assert ads.reward.tolist() == [0.2, 1.0, 0.0, 0.5]
    assert ads.cost.tolist() == [0.5, 0.25, 2.0, 1.0]
    first, second = ads.campaigns()
    assert (first.name, second.name) == ("9/30-34/M", "9/35-39/F")
    assert first.reward == pytest.approx([0.99, 0.198])
    assert first.cost == pytest.approx([0.495, 0.99])
    assert second.reward == pytest.approx([0.99, 0.01 / 0.5 * 0.99])  # 0 becomes 0.01, then scaled
    assert ads.left_out.counts == {}


def bom(text):
    return b"\xef\xbb\xbf" + text.encode()


def crlf(text):
    return text.replace("\n", "\r\n").encode()


def cr(text):
    return text.replace("\n", "\r").encode()


def blank_lines(text):
    return ("\n\n" + text.replace("\n", "\n\n,,,,,\n  \n")).encode()


def no_last_newline(text):
    return text.rstrip().encode()


def spaces(text):
    return text.replace(",", " , ").encode()


def quoted(text):
    return "\n".join(",".join(f'"{f}"' for f in line.split(",")) for line in text.split()).encode()


def trailing_commas(text):
    return text.replace("\n", ",,\n").encode()


def any_order_among_others(text):
    rows = [line.split(",") for line in text.split()]
    return "\n".join(",".join(["ü", *row[::-1], "more"]) for row in rows).encode()


def other_names(text):
    return text.replace("campaign_id", "xyz_campaign_id").replace("spent", "Spent").encode()


@pytest.mark.parametrize(
    "change",
    [
        bom,
        crlf,
        cr,
        blank_lines,
        no_last_newline,
        spaces,
        quoted,
        trailing_commas,
        any_order_among_others,
        other_names,
    ],
)
def test_the_same_ads_in_other_formats(change):
    want, got = facebook.parse(GOOD.encode()), facebook.parse(change(GOOD))
    assert got.key == want.key
    assert np.array_equal(got.reward, want.reward)
    assert np.array_equal(got.cost, want.cost)
    assert got.left_out.counts == {}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("9,30-34,M,0,5,0", "no clicks"),
        ("9,30-34,M,0,0,0", "no clicks"),
        ("9,30-34,M,7,0,1", "nothing spent"),
        ("9,30-34,M,7,1,8", "more conversions than clicks"),
        ("45-49,15,21,7,10.5,2", SHIFTED),
        ("9,30-34,15,7,10.5,2", SHIFTED),
        ("9,45,M,7,10.5,2", SHIFTED),
        ("30-34,M,10,14,what,", SHIFTED),
        (",30-34,M,7,10.5,2", "a required field is empty"),
        ("9,,M,7,10.5,2", "a required field is empty"),
        ("9,30-34,M,7,,2", "a required field is empty"),
        ("8,30-34,M,7,1,2", "the only ad of its campaign, age and gender"),
    ],
)
def test_what_says_nothing_is_counted(row, reason):
    ads = facebook.parse(f"{GOOD}{row}\n{row.replace('8,30', '7,30')}\n".encode())
    assert len(ads) == 4
    assert ads.left_out.counts == {reason: 2}
    assert ads.left_out.lines == {reason: [6, 7]}


def test_the_first_few_lines_are_named():
    ads = facebook.parse((GOOD + "9,30-34,M,0,0,0\n" * 9).encode())
    assert ads.left_out.counts == {"no clicks": 9}
    assert ads.left_out.lines == {"no clicks": [6, 7, 8, 9, 10]}


def test_campaigns_are_sorted_as_numbers_then_as_text():
    rows = [f"{c},30-34,M,9,3,1\n" * 2 for c in ("spring", "1178", "916", "autumn")]
    ads = facebook.parse((HEADER + "\n" + "".join(rows)).encode())
    names = [campaign.name.split("/")[0] for campaign in ads.campaigns()]
    assert names == ["916", "1178", "autumn", "spring"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", f"ads.csv is empty; its header must name {HEADER.replace(',', ', ')}"),
        ("\n ,\n", "ads.csv has no column 'campaign_id'; line 2 has ,"),
        (
            "campaign_id,age,sex,clicks,cost,total_conversion\n",
            "ads.csv has no column 'gender'; line 1 has campaign_id, age, sex, clicks, cost,"
            " total_conversion",
        ),
        (
            GOOD.replace("gender", "sex"),
            "ads.csv has no column 'gender'; line 1 has campaign_id, age, sex, clicks, spent,"
            " total_conversion",
        ),
        (GOOD.replace("age", "Clicks"), "ads.csv has no column 'age'; line 1 has"),
        (
            f"{HEADER},CLICKS\n",
            "ads.csv, line 1: the column 'clicks' appears twice; rename or remove one",
        ),
        (HEADER, "no usable ad in ads.csv (no line below the header); is it the right file?"),
        (
            f"{HEADER}\n9,30-34,M,0,0,0\n9,30-34,M,5,1,6\n9,30-34,M,5,1,5\n",
            "no usable ad in ads.csv (no clicks: 1, more conversions than clicks: 1,"
            " the only ad of its campaign, age and gender: 1); is it the right file?",
        ),
        (
            f"{GOOD}9,30-34,M,seven,1,1\n",
            "ads.csv, line 6: clicks must be a number, 0 or more, got 'seven';"
            " correct or remove the line",
        ),
        (
            f'{GOOD}9,30-34,M,7,"1,50",1\n',
            "ads.csv, line 6: spent must be a number, 0 or more, got '1,50';"
            " correct or remove the line",
        ),
        (f"{GOOD}\n\n9,30-34,M,7,1,nan\n", "ads.csv, line 8: total_conversion must be a number"),
        (f"{GOOD}9,30-34,M,inf,1,1\n", "ads.csv, line 6: clicks must be a number"),
        (f"{GOOD}9,30-34,M,1e999,1,1\n", "ads.csv, line 6: clicks must be a number"),
        (f"{GOOD}9,30-34,M,1_000,1,1\n", "ads.csv, line 6: clicks must be a number"),
        (f"{GOOD}9,30-34,M,7,-1,1\n", "ads.csv, line 6: spent must be a number, 0 or more, got"),
        (
            f"{GOOD}9,30-34,M,7,1\n",
            "ads.csv, line 6: 5 fields where the header has 6; correct or remove the line",
        ),
        (f"{GOOD}9,30-34,M,7,1,1,1\n", "ads.csv, line 6: 7 fields where the header has 6;"),
        (f'{GOOD}9,30-34,M,7,1,"1\n', "ads.csv, line 6: not CSV, unexpected end of data"),
        (
            GOOD.encode() + b"9,30-34,\xff,7,1,1\n",
            "ads.csv, line 6: not UTF-8 text, got byte 0xff; save it as CSV UTF-8",
        ),
        (GOOD.encode("utf-16-le"), "ads.csv contains zero bytes, so it is not text"),
    ],
)
def test_broken_files_are_refused_with_the_line(data, message):
    assert refused(data).startswith(message)


def test_zip_files(tmp_path):
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("folder/data.csv", GOOD)
        file.writestr("__MACOSX/folder/._data.csv", "resource")
        file.writestr("readme.txt", "hello")
    assert len(facebook.load(archive)) == 4
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("more.CSV", GOOD)
    with pytest.raises(InvalidData) as caught:
        facebook.load(archive)
    assert str(caught.value) == (
        "archive.zip must contain exactly one CSV file, got ['folder/data.csv', 'more.CSV'];"
        " unpack it and pass the CSV file"
    )
    archive.write_bytes(archive.read_bytes()[:60])
    with pytest.raises(InvalidData, match=r"cannot read archive\.zip as a ZIP file: .*; unpack it"):
        facebook.load(archive)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(InvalidData, match=r"exactly one CSV file, got \['readme\.txt'\]; unpack"):
        facebook.load(archive)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(MissingData) as caught:
        facebook.load(tmp_path / "none.csv")
    assert str(caught.value) == f"no file '{tmp_path / 'none.csv'}'; check the path"
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(InvalidData, match="cannot read"):
        facebook.load(tmp_path)


def test_the_kept_copy_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_DATA", str(tmp_path / "deep" / "folder"))
    with pytest.raises(MissingData) as caught:
        facebook.find_file()
    assert str(caught.value) == (
        f"no Facebook ads in '{tmp_path / 'deep' / 'folder'}'; download data.csv of 'Facebook ad"
        " campaign' by Madis Lemsalu"
        " (https://www.kaggle.com/datasets/madislemsalu/facebook-ad-campaign),"
        " then run: bursar data facebook-ads --from FILE"
    )
    source = tmp_path / "mine.csv"
    source.write_text(GOOD)
    kept = facebook.keep_file(source)
    assert kept == facebook.find_file() == tmp_path / "deep" / "folder" / "facebook_ads.csv"
    assert kept.read_bytes() == source.read_bytes()
    assert [p.name for p in setting("FB-Br").problems(0)] == ["9/30-34/M", "9/35-39/F"]
    assert facebook.find_file(source) == source
    with pytest.raises(MissingData, match=r"no file '.*none\.csv'; download data\.csv of"):
        facebook.find_file(tmp_path / "none.csv")


def test_a_broken_file_is_not_kept_and_harms_no_earlier_copy(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_DATA", str(tmp_path / "kept"))
    source = tmp_path / "mine.csv"
    source.write_text(GOOD)
    kept = facebook.keep_file(source)
    source.write_text(HEADER)
    with pytest.raises(InvalidData, match=r"no usable ad in mine\.csv"):
        facebook.keep_file(source)
    assert kept.read_text() == GOOD
    assert list(kept.parent.iterdir()) == [kept]  # nothing half written is left


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BURSAR_DATA", str(tmp_path / "file"))
    source = tmp_path / "mine.csv"
    source.write_text(GOOD)
    with pytest.raises(InvalidData, match=r"cannot write .*; set BURSAR_DATA to a folder"):
        facebook.keep_file(source)


def test_without_the_variable_it_is_the_users_data_folder(monkeypatch):
    monkeypatch.delenv("BURSAR_DATA", raising=False)
    assert data_folder().name == "bursar"


def test_a_changed_file_is_read_again(tmp_path):
    source = tmp_path / "mine.csv"
    source.write_text(GOOD)
    assert len(setting("FB-Br").problems(0, source)) == 2
    source.write_text(GOOD + "8,30-34,M,7,1,2\n8,30-34,M,7,1,3\n")
    assert len(setting("FB-Br").problems(0, source)) == 3
    assert len(setting("FB-Br").problems(0, facebook.parse(GOOD.encode()))) == 2


def test_the_command_says_what_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BURSAR_DATA", str(tmp_path / "kept"))
    source = tmp_path / "mine.csv"
    source.write_text(GOOD + "9,30-34,M,0,0,0\n" * 7 + "9,30-34,M,7,1,8\n")
    facebook_ads(source=str(source))
    assert capsys.readouterr().out == (
        f"stored in {tmp_path / 'kept' / 'facebook_ads.csv'}\n"
        "4 ads in 2 campaigns (campaign, age, gender)\n"
        "This is not the paper's file, which has 545 ads in 19 campaigns.\n"
        "8 lines left out:\n"
        "      7  no clicks (lines 6, 7, 8, 9, 10, …)\n"
        "      1  more conversions than clicks (line 13)\n"
    )


def test_the_command_knows_the_papers_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BURSAR_DATA", str(tmp_path))
    facebook_ads(source=str(the_file()))
    out = capsys.readouterr().out
    assert "545 ads in 19 campaigns (campaign, age, gender)\n598 lines left out:\n" in out
