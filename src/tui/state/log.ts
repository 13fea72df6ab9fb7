/**
 * The history as it grows: entries that are done, and behind the first one that is not, those that may still change.
 *
 * One `LogWriter` takes what is said in one step of the reducer; what it was made from stays as it is.
 */
import type { ToolCall, ToolCallConfirmation } from '../../protocol/development-tool/index.ts';
import { splitBlocks } from './blocks.ts';
import { isQuestion, isWaiting, type CallEntry, type Decision, type Entry } from './entry.ts';
import type { Said } from './message.ts';

export interface Log {
  readonly finished: readonly Entry[];
  readonly open: readonly Entry[];
  /** What the agent has said since the last prompt or call. */
  readonly said: string;
  /** The next entry's id. */
  readonly next: number;
}

export const EMPTY_LOG: Log = { finished: [], open: [], said: '', next: 0 };

const ENDED = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED']);

// Each kind without what every entry has.
type Draft<E = Entry> = E extends Entry ? Omit<E, 'id' | 'gap'> : never;

export class LogWriter {
  readonly #before: Log;
  readonly #added: Entry[] = [];
  #open: Entry[];
  #said: string;
  #next: number;

  constructor(log: Log) {
    this.#before = log;
    this.#open = [...log.open];
    this.#said = log.said;
    this.#next = log.next;
  }

  take(said: Said): void {
    switch (said.kind) {
      case 'prompt':
        // What waits for words goes on waiting; anything else belonged to the turn before.
        this.#settle(isWaiting);
        this.#said = '';
        this.#push({ kind: 'prompt', text: said.text, from: said.from, done: true });
        break;
      case 'answer':
        this.#answer(said.confirmation, said.from);
        break;
      case 'thought':
        this.#closeText();
        this.#push({ kind: 'thought', thought: said.thought, done: true });
        break;
      case 'text':
        this.#said += said.text;
        this.#text(said.text);
        break;
      case 'call':
        this.#call(said.call);
        break;
    }
    this.#sweep();
  }

  /** The turn's last word, which repeats what was said in pieces; it is shown only where it does not. */
  closing(text: string): void {
    if (this.#said.trim() !== text.trim()) this.take({ kind: 'text', text });
  }

  notice(level: 'info' | 'error', text: string, local: boolean): void {
    if (!local) this.#closeText();
    const last = this.#open.at(-1);
    // What this client has to say does not cut a paragraph in two.
    const writing = last?.kind === 'text' && !last.done ? this.#open.pop() : undefined;
    this.#push({ kind: 'notice', level, text, done: true, ...(local && { local }) });
    if (writing) this.#open.push(writing);
    this.#sweep();
  }

  /** The turn is over. */
  end(): void {
    this.#settle(() => false);
    this.#sweep();
  }

  get log(): Log {
    const { finished } = this.#before;
    return {
      finished: this.#added.length === 0 ? finished : finished.concat(this.#added),
      open: this.#open,
      said: this.#said,
      next: this.#next,
    };
  }

  #push(entry: Draft): void {
    const last = this.#open.at(-1) ?? this.#added.at(-1) ?? this.#before.finished.at(-1);
    const quiet = (kind: Entry['kind'] | undefined) => kind === 'call' || kind === 'thought';
    const gap = last !== undefined && !(quiet(entry.kind) && quiet(last.kind));
    this.#open.push({ ...entry, id: this.#next, gap });
    this.#next += 1;
  }

  #text(text: string): void {
    const last = this.#open.at(-1);
    const goesOn = last?.kind === 'text' && !last.done;
    if (goesOn) this.#open.pop();
    const { done, rest } = splitBlocks(goesOn ? last.text + text : text);
    let first = goesOn ? last.first : !this.#answering();
    if (goesOn && last.id === this.#next - 1) this.#next = last.id;
    for (const block of done) {
      this.#push({ kind: 'text', text: block, first, done: true });
      first = false;
    }
    // Blank space alone is no block yet, but it may matter to the next one.
    this.#push({ kind: 'text', text: rest, first, done: false });
  }

  /** The last thing in the history is a part of the same answer. */
  #answering(): boolean {
    const last = this.#open.at(-1) ?? this.#added.at(-1) ?? this.#before.finished.at(-1);
    return last?.kind === 'text';
  }

  #closeText(): void {
    const last = this.#open.at(-1);
    if (last?.kind !== 'text' || last.done) return;
    this.#open.pop();
    const text = last.text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();
    if (text !== '') this.#open.push({ ...last, text, done: true });
  }

  #call(call: ToolCall): void {
    const at = this.#indexOf(call.tool_call_id);
    const done = ENDED.has(call.status);
    if (at < 0) {
      this.#closeText();
      this.#said = '';
      this.#push({ kind: 'call', call, done });
      return;
    }
    const known = this.#open[at] as CallEntry;
    const asksAgain =
      call.confirmation_request !== undefined &&
      call.correlationId !== known.decision?.correlationId;
    const { decision, ...rest } = known;
    this.#open[at] = {
      ...rest,
      call,
      done,
      ...(decision && !asksAgain && { decision }),
    };
  }

  #answer(confirmation: ToolCallConfirmation, by: Decision['by']): void {
    const at = this.#indexOf(confirmation.tool_call_id);
    const entry = this.#open[at];
    if (entry?.kind !== 'call' || entry.decision) return;
    const { options = [] } = entry.call.confirmation_request ?? {};
    const chosen = options.find(({ id }) => id === confirmation.selected_option_id);
    const name = chosen?.name ?? confirmation.selected_option_id;
    const { reason } = confirmation;
    const words = isQuestion(entry) ? reason : reason && `${name}: ${reason}`;
    const option = words ?? name;
    const decision = { by, option, correlationId: entry.call.correlationId };
    this.#open[at] = { ...entry, decision };
  }

  #indexOf(callId: string): number {
    return this.#open.findIndex(
      (entry) => entry.kind === 'call' && entry.call.tool_call_id === callId,
    );
  }

  #settle(except: (entry: Entry) => boolean): void {
    this.#closeText();
    this.#open = this.#open.map((entry): Entry => {
      if (entry.done || except(entry)) return entry;
      return entry.kind === 'call'
        ? { ...entry, done: true, stopped: true }
        : { ...entry, done: true };
    });
  }

  #sweep(): void {
    const stays = this.#open.findIndex(({ done }) => !done);
    this.#added.push(...this.#open.splice(0, stays < 0 ? this.#open.length : stays));
  }
}
