/**
 * Selects the session's events that form the conversation for models. Events are never removed from the session itself.
 *
 * - An aside, such as a command to the program, is excluded with all events of its run.
 * - A rewind resets the conversation to the point directly after its target event. The excluded events stay in the
 *   session, so another rewind can restore them. If the target is in the middle of a request and the rewind cancels
 *   that request, a note tells the model that the request is canceled. Without the note, the model would carry out this
 *   request together with the next one.
 * - If a rewind excludes the latest event of a run, events that the run adds later are excluded too. But if the
 *   conversation is selected for a run (`runId`), rewinds by other runs are ignored after this run has started. So a
 *   running agent always sees its own events.
 */
import { CANCELED_REQUEST } from '../canceled-run.ts';
import { userContent } from '../content.ts';
import type { Event } from '../event.ts';

/** Returns the events of the conversation. `runId` is the run for which the conversation is selected. */
export function conversationOf(events: readonly Event[], runId?: string): readonly Event[] {
  const isPlain = events.every(({ aside, actions }) => aside !== true && !actions.rewind);
  return isPlain ? events : new Conversation(events, runId).events;
}

/**
 * Returns the id of the event that came before `id` when `id` was added to the conversation. Returns null if `id` was
 * the first event or was never added.
 */
export function eventBefore(events: readonly Event[], id: string): string | null {
  return new Conversation(events, undefined).before(id);
}

class Conversation {
  readonly #byId = new Map<string, Event>();
  readonly #before = new Map<string, Event | undefined>();
  /** The latest event of each run. */
  readonly #latest = new Map<string, Event>();
  #leftOut = new Set<string>();
  #chain: Event[] = [];

  constructor(events: readonly Event[], runId: string | undefined) {
    const asides = new Set<string>();
    let begun = false;
    for (const event of events) {
      begun ||= event.runId === runId;
      if (event.aside === true) asides.add(event.runId);
      const { rewind, compaction } = event.actions;
      const isBack = rewind && !(begun && event.runId !== runId) && this.#rewind(rewind.to);
      // A summary is part of the conversation, even if an aside requested it.
      const isPart = compaction !== undefined || !asides.has(event.runId);
      const isAdded = isPart && !this.#leftOut.has(event.runId);
      if (isBack && rewind.cancels === true) this.#add(canceledBy(event, isAdded));
      if (isAdded) this.#add(event);
    }
  }

  get events(): readonly Event[] {
    return this.#chain;
  }

  before(id: string): string | null {
    return this.#before.get(id)?.id ?? null;
  }

  #add(event: Event): void {
    this.#byId.set(event.id, event);
    this.#before.set(event.id, this.#chain.at(-1));
    this.#latest.set(event.runId, event);
    this.#chain.push(event);
  }

  /** Resets the conversation to the target. Returns false if the target was never part of the conversation. */
  #rewind(to: string | null): boolean {
    const target = to === null ? undefined : this.#byId.get(to);
    if (to !== null && !target) return false;
    const chain: Event[] = [];
    for (let at = target; at !== undefined; at = this.#before.get(at.id)) chain.push(at);
    const kept = new Set(chain);
    this.#chain = chain.toReversed();
    this.#leftOut = new Set();
    for (const [run, latest] of this.#latest) if (!kept.has(latest)) this.#leftOut.add(run);
    return true;
  }
}

/**
 * Converts a rewind's event to a message from the user that says that the request was canceled. The message has the id
 * of the event. If the event itself is also added to the conversation (`isAdded`), the message has another id, because
 * ids are unique in the conversation.
 */
function canceledBy(event: Event, isAdded: boolean): Event {
  const id = isAdded ? `${event.id}.canceled` : event.id;
  return { ...event, id, author: 'user', content: userContent(CANCELED_REQUEST) };
}
