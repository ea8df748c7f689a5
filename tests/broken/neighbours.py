"""Adapters that mistake who speaks after whom."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from broken.fault import Bent, breaks
from memhub.records import Patch, Record
from memhub.search import analyze, document, lent_terms
from memhub.search.indexing import Slot, continues, is_turn
from memhub_adapters.in_memory.rooms import Room, Rooms

LENDING = (
    "a_turn_answers_to_the_words_before_it",
    "turns_of_a_conversation_are_neighbours_across_calls",
    "a_deleted_turn_makes_others_neighbours",
    "an_updated_turn_lends_its_new_words",
    "explain_tells_neighbours_apart",
    "restored_turns_are_neighbours",
)


class Sessions(Rooms):
    """Rooms that find the turn before in some other way."""

    def __init__(
        self, session: Callable[[Room, Record], object], follows: Callable[[Record, Record], bool]
    ) -> None:
        super().__init__()
        self.session, self.follows = session, follows
        self.last: dict[object, int] = {}

    def _last_turn(self, room: Room, record: Record, key: int) -> Slot | None:
        session = self.session(room, record)
        if session is None:
            return None
        before, self.last[session] = self.last.get(session), key
        slot = self._room(before).slots.get(before) if before is not None else None
        return slot if slot is not None and self.follows(slot.record, record) else None


class Talks(Bent):
    """`session` names the session of a record, None where it has none; `follows` judges two of one."""

    follows = staticmethod(continues)

    def __init__(self) -> None:
        super().__init__()
        self._rooms = Sessions(self.session, self.follows)

    def session(self, room: Room, record: Record) -> object:
        return (room.number, record.provenance.conversation_id) if is_turn(record) else None


@breaks(*LENDING)
class HasNoNeighbours(Talks):
    def session(self, room: Room, record: Record) -> object:
        return None


@breaks("neighbours_do_not_cross_conversations")
class CrossesConversations(Talks):
    def session(self, room: Room, record: Record) -> object:
        return (room.number, record.provenance.conversation_id is None) if is_turn(record) else None


@breaks("neighbours_do_not_cross_observations")
class CrossesObservations(Talks):
    follows = staticmethod(lambda last, new: True)


@breaks("neighbours_do_not_cross_scopes")
class CrossesScopes(Talks):
    def session(self, room: Room, record: Record) -> object:
        return (record.provenance.conversation_id or room.number) if is_turn(record) else None


@breaks("facts_have_no_neighbours")
class TakesFactsForTurns(Talks):
    def session(self, room: Room, record: Record) -> object:
        return room.number, record.provenance.conversation_id


@breaks("a_deleted_turn_lends_nothing")
class LendsWhatIsDeleted(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._find(id)
        after = self._rooms.slot(slot.following) if slot.following is not None else None
        lent = slot.record.content
        await super().delete(id, revision=revision, now=now)
        if after is not None and slot.previous is None:
            self.lent_anew(after.key, lent)

    def lent_anew(self, key: int, text: str) -> None:
        """Index a turn as if the turn before it still said `text`."""
        record = self._rooms.slot(key).record
        self._rooms.remove(key, document(record))
        self._rooms.add(key, document(record, analyze(text).terms))


@breaks("a_deleted_turn_makes_others_neighbours")
class ForgetsWhoSpokeBefore(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._find(id)
        await super().delete(id, revision=revision, now=now)
        if slot.previous is not None and slot.following is not None:
            before, after = self._rooms.slot(slot.previous), self._rooms.slot(slot.following)
            self._rooms.remove(after.key, document(after.record, lent_terms(before.record)))
            self._rooms.add(after.key, document(after.record))
            self._rooms.save(replace(before, following=None))
            self._rooms.save(replace(after, previous=None))


class LendsAsBefore(LendsWhatIsDeleted):
    """What `change` takes back from the turn after, this gives it again."""

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await Bent.delete(self, id, revision=revision, now=now)

    def again(self, slot: Slot) -> None:
        if slot.following is not None:
            self.lent_anew(slot.following, slot.record.content)


@breaks("an_invalidated_turn_lends_nothing")
class LendsWhatIsInvalidated(LendsAsBefore):
    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        slot = self._find(id)
        record = await super().invalidate(id, reason, revision=revision, now=now)
        self.again(slot)
        return record


@breaks("a_turn_that_will_expire_lends_nothing")
class LendsWhatWillExpire(LendsAsBefore):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        slot = self._find(id)
        record = await super().update(id, patch, revision=revision, now=now)
        if record.expires_at:
            self.again(slot)
        return record


@breaks("an_updated_turn_lends_its_new_words")
class LendsWhatWasSaid(LendsAsBefore):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        slot = self._find(id)
        record = await super().update(id, patch, revision=revision, now=now)
        if slot.following is not None and record.content != slot.record.content:
            after = self._rooms.slot(slot.following)
            self._rooms.remove(after.key, document(after.record, lent_terms(record)))
            self._rooms.add(after.key, document(after.record, lent_terms(slot.record)))
        return record


@breaks("a_deleted_turn_leaves_the_others_as_they_were")
class ForgetsThatOthersSpoke(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._find(id)
        await super().delete(id, revision=revision, now=now)
        if is_turn(slot.record) and slot.previous is None:
            for room in self._rooms.matching([slot.record.scope], exact=True):
                room.turns = 0
