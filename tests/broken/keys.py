"""Adapters that mistake one idempotency key for another, or remember keys badly."""

import asyncio
from dataclasses import replace
from datetime import datetime

from broken.fault import Bent, breaks
from memhub import Scope
from memhub.adapter import Write
from memhub.changes import expired
from memhub.errors import Conflict, NotFound
from memhub.records import Observed


class Keys(Bent):
    """An adapter with places to bend: the key, the digest, and the reply."""

    def key(self, write: Write) -> str | None:
        return write.idempotency_key

    def digest(self, write: Write) -> str:
        return write.digest

    def reply(self, done: Observed, write: Write) -> Observed:
        return done

    async def observe(self, write: Write) -> Observed:
        bent = replace(write, idempotency_key=self.key(write), digest=self.digest(write))
        return self.reply(await super().observe(bent), write)


@breaks(
    "a_key_seen_three_times_writes_once", "defaults_add_nothing_to_a_key", "a_whole_observation_is_replayed",
    "turns_are_replayed", "a_replay_leaves_out_the_deleted", "a_replay_leaves_out_the_expired",
    "a_correction_is_replayed", "one_key_from_two_tasks_writes_once", "a_key_holds_between_processes",
    "the_longest_keys_are_told_apart",
)  # fmt: skip
class RepliesAsIfNew(Keys):
    def reply(self, done: Observed, write: Write) -> Observed:
        return replace(done, replayed=False)


@breaks("a_key_with_another_payload_is_conflict", "a_whole_observation_is_replayed", widely=True)
class IgnoresThePayload(Keys):
    def digest(self, write: Write) -> str:
        return ""


@breaks("another_key_is_another_observation")
class FoldsKeys(Keys):
    def key(self, write: Write) -> str | None:
        return write.idempotency_key and write.idempotency_key.strip().lower()


@breaks("the_longest_keys_are_told_apart")
class CutsKeysShort(Keys):
    def key(self, write: Write) -> str | None:
        return write.idempotency_key and write.idempotency_key[:255]


@breaks("a_key_belongs_to_its_exact_scope")
class SharesKeys(Bent):
    async def observe(self, write: Write) -> Observed:
        known = [scope for scope, key in self._ledger if key == write.idempotency_key and scope.pairs]
        if write.idempotency_key and write.scope.pairs and known and known[0] != write.scope:
            raise Conflict("the key is known")
        return await super().observe(write)


@breaks("defaults_add_nothing_to_a_key", "a_replay_leaves_out_the_expired")
class DigestsThePresent(Keys):
    def digest(self, write: Write) -> str:
        return f"{write.digest} {write.now}"


@breaks("a_whole_observation_is_replayed", "turns_are_replayed")
class RepliesWithTheFirst(Keys):
    def reply(self, done: Observed, write: Write) -> Observed:
        whole = len(done.records) == len(write.facts) + len(write.turns)
        return replace(done, records=done.records[:1]) if done.replayed and whole else done


@breaks("turns_are_replayed")
class KnowsNoKeysOfTurns(Keys):
    def key(self, write: Write) -> str | None:
        return None if write.turns else write.idempotency_key


class Remembers(Bent):
    """Keeps what it first replied."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[tuple[Scope, str], Observed] = {}

    async def observe(self, write: Write) -> Observed:
        done = await super().observe(write)
        if write.idempotency_key is None:
            return done
        first = self.replies.setdefault((write.scope, write.idempotency_key), done)
        return self.recalled(first, done, write) if done.replayed else done

    def recalled(self, first: Observed, done: Observed, write: Write) -> Observed:
        raise NotImplementedError


@breaks("a_replay_returns_the_records_as_they_are")
class RepliesAsBefore(Remembers):
    def recalled(self, first: Observed, done: Observed, write: Write) -> Observed:
        held = {record.id for record in done.records}
        return replace(done, records=tuple(record for record in first.records if record.id in held))


@breaks("a_replay_leaves_out_the_deleted")
class RepliesWithTheDeleted(Remembers):
    def recalled(self, first: Observed, done: Observed, write: Write) -> Observed:
        held = {record.id: record for record in done.records}
        gone = [one for one in first.records if not self._rooms.find(one.id)]
        return replace(done, records=(*gone, *held.values()))


@breaks("a_replay_leaves_out_the_expired")
class RepliesWithTheExpired(Remembers):
    def recalled(self, first: Observed, done: Observed, write: Write) -> Observed:
        late = [one for one in first.records if expired(one, write.now)]
        return replace(done, records=(*late, *done.records))


@breaks("a_correction_is_replayed")
class JudgesBeforeTheKey(Bent):
    async def observe(self, write: Write) -> Observed:
        for fact in write.facts:
            slot = self._rooms.find(fact.supersedes) if fact.supersedes else None
            if slot and slot.record.superseded_by:
                raise Conflict("supersedes: is already superseded")
        return await super().observe(write)


@breaks("a_failed_observation_spends_no_key")
class SpendsKeysFirst(Bent):
    async def observe(self, write: Write) -> Observed:
        try:
            return await super().observe(write)
        except NotFound:
            if write.idempotency_key:
                self._ledger[write.scope, write.idempotency_key] = (write.digest, ())
            raise


@breaks("a_key_is_new_where_its_records_were_restored")
class TakesTheRestoredForItsOwn(Remembers):
    """Makes ids of keys, and passes over what is held under them."""

    async def observe(self, write: Write) -> Observed:
        entry = (write.scope, write.idempotency_key or "")
        first = self.replies.get(entry)
        if first and entry not in self._ledger and self._rooms.find(first.records[0].id):
            return first
        return await super().observe(write)

    def recalled(self, first: Observed, done: Observed, write: Write) -> Observed:
        return done


@breaks("purge_forgets_keys", "a_key_is_new_where_its_records_were_restored")
class PurgesNoKeys(Bent):
    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        ledger = dict(self._ledger)
        count = await super().purge(scope, exact=exact, now=now)
        self._ledger |= ledger
        return count


@breaks("one_key_from_two_tasks_writes_once")
class LooksBeforeItWrites(Bent):
    """Looks for the key, waits for the other end, and writes: two tasks both find none."""

    async def observe(self, write: Write) -> Observed:
        if write.idempotency_key is None or (write.scope, write.idempotency_key) in self._ledger:
            return await super().observe(write)
        await asyncio.sleep(0)
        self._ledger.pop((write.scope, write.idempotency_key), None)
        return await super().observe(write)


@breaks("a_key_holds_between_processes")
class KeepsKeysInTheProcess(Keys):
    def key(self, write: Write) -> str | None:
        return write.idempotency_key and f"{id(self)} {write.idempotency_key}"
