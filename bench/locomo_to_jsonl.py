"""LoCoMo's conversations as JSON Lines that `memhub import` reads, one file a conversation.

python bench/locomo_to_jsonl.py --data FOLDER --output FOLDER
memhub import OUTPUT/conv-26.jsonl --scope conv-26
memhub recall --scope conv-26 "When did Caroline go to the LGBTQ support group?"
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from locomo import Conversation, load


def lines(talk: Conversation) -> list[str]:
    return [
        json.dumps(
            {
                "role": "user",
                "content": said.text,
                "speaker": said.speaker,
                "at": said.at.isoformat(),
                "conversation_id": said.session,
            },
            ensure_ascii=False,
        )
        for said in talk.turns
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of locomo10.json")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for talk in load(args.data / "locomo10.json"):
        target = args.output / f"{talk.name}.jsonl"
        target.write_text("\n".join(lines(talk)) + "\n", encoding="utf-8")
        print(f"{target}: {len(talk.turns)} turns, {len(talk.questions)} questions")


if __name__ == "__main__":
    main()
