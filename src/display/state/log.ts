/**
 * The history shown on the screen. Finished entries never change. The first unfinished entry and all entries after it
 * are open, which means that they may still change.
 *
 * A `LogWriter` applies the facts of one reducer step. It does not modify the log that it started from.
 */
import type {
  AgentThought,
  Fact,
  ToolCall,
  ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import type { Part, TaskState } from '../../protocol/index.ts';
import { hasEnded, isTerminal, selectedOption } from '../../protocol/schema-free/index.ts';
import { splitBlocks } from './blocks.ts';
import {
  isQuestion,
  isWaiting,
  type CallEntry,
  type Decision,
  type Entry,
  type NoticeEntry,
} from './entry.ts';

export interface Log {
  readonly finished: readonly Entry[];
  readonly open: readonly Entry[];
  /** The agent's text since the last prompt or new call. */
  readonly answer: string;
  /** The id of the next entry. */
  readonly next: number;
}

export const EMPTY_LOG: Log = { finished: [], open: [], answer: '', next: 0 };

/** An entry before the log assigns `id` and `gap`. */
type Draft<E = Entry> = E extends Entry ? Omit<E, 'id' | 'gap'> : never;

export class LogWriter {
  readonly #before: Log;
  readonly #added: Entry[] = [];
  #open: Entry[];
  #answer: string;
  #next: number;

  constructor(log: Log) {
    this.#before = log;
    this.#open = [...log.open];
    this.#answer = log.answer;
    this.#next = log.next;
  }

  take(fact: Fact): void {
    switch (fact.kind) {
      case 'prompt':
        this.#prompt(fact.parts, fact.source);
        break;
      case 'answer':
        this.#decide(fact.confirmation, fact.source);
        break;
      case 'thought':
        this.#thought(fact.thought);
        break;
      case 'text':
        if (fact.artifact !== undefined) {
          this.notice('info', `Artifact: ${fact.artifact}`, false);
        }
        this.#answer += fact.text;
        this.#text(fact.text);
        break;
      case 'file': {
        const { file, artifact } = fact;
        const name = file.name ?? artifact ?? file.mimeType ?? 'unknown type';
        const part = { kind: 'file', file } as const;
        this.notice('info', `The answer contains a file: ${name}`, false, { part });
        break;
      }
      case 'data': {
        const { data, artifact } = fact;
        const name = artifact === undefined ? '' : `: ${artifact}`;
        const part = { kind: 'data', data } as const;
        this.notice('info', `The answer contains data${name}`, false, { part });
        break;
      }
      case 'call':
        this.#call(fact.call);
        break;
      default:
        if (isTerminal(fact.state)) this.#endTurn(fact.state, fact.text);
        // If a call waits for an answer, the entry of this call already shows the question. The text repeats the
        // question for clients that do not support calls.
        else if (fact.text !== '' && !this.#open.some(isWaiting)) {
          this.take({ kind: 'text', text: fact.text });
        }
    }
    this.#sweep();
  }

  notice(
    level: 'info' | 'error',
    text: string,
    local: boolean,
    more: Pick<NoticeEntry, 'link' | 'part'> = {},
  ): void {
    const entry = { kind: 'notice', level, text, done: true, ...more } as const;
    if (local) {
      this.#pushLocal({ ...entry, local });
    } else {
      this.#closeText();
      this.#push(entry);
    }
    this.#sweep();
  }

  /** Adds a command that the person at this display ran. */
  ownCommand(call: ToolCall): void {
    this.#pushLocal({ kind: 'call', call, done: true, local: true });
    this.#sweep();
  }

  /** Adds an entry before the block that is being streamed, so that the entry does not split the block. */
  #pushLocal(entry: Draft): void {
    const last = this.#open.at(-1);
    const writing = isStreamed(last) ? this.#open.pop() : undefined;
    this.#push(entry);
    if (writing) this.#open.push(writing);
  }

  /** Finishes all open entries. */
  end(): void {
    this.#settle(() => false);
    this.#sweep();
  }

  get log(): Log {
    const { finished } = this.#before;
    return {
      finished: this.#added.length === 0 ? finished : finished.concat(this.#added),
      open: this.#open,
      answer: this.#answer,
      next: this.#next,
    };
  }

  get #last(): Entry | undefined {
    return this.#open.at(-1) ?? this.#added.at(-1) ?? this.#before.finished.at(-1);
  }

  #push(entry: Draft): void {
    const quiet = (kind: Entry['kind'] | undefined) => kind === 'call' || kind === 'thought';
    const last = this.#last;
    const gap = last !== undefined && !(quiet(entry.kind) && quiet(last.kind));
    this.#open.push({ ...entry, id: this.#next, gap });
    this.#next += 1;
  }

  #prompt(all: readonly Part[], from: Decision['by']): void {
    const text = textOfPrompt(all);
    if (text === '') return;
    const parts = all.filter((part) => part.kind !== 'text');
    // If a call waits for an answer, the turn has not ended, and the prompt may be the answer. So all unfinished calls
    // of the turn stay open. If no call waits, the open entries belong to the previous turn.
    const waits = this.#open.some(isWaiting);
    this.#settle(({ kind }) => waits && kind === 'call');
    this.#answer = '';
    this.#push({ kind: 'prompt', text, from, done: true, ...(parts.length > 0 && { parts }) });
  }

  #endTurn(state: TaskState, text: string): void {
    if (state === 'canceled') {
      this.notice('info', 'Canceled.', false);
    } else if (state !== 'completed') {
      this.notice('error', text === '' ? 'The turn failed.' : text, false);
    } else if (text !== '' && text.trim() !== this.#answer.trim()) {
      // Usually, the text of `completed` repeats the streamed answer. A different text is shown too.
      this.take({ kind: 'text', text });
    }
    this.end();
  }

  #text(text: string): void {
    if (this.#open.at(-1)?.kind === 'thought') this.#closeText();
    const last = this.#open.at(-1);
    const continues = last?.kind === 'text' && !last.done;
    if (continues) this.#open.pop();
    const all = continues ? last.text + text : text;
    // Only a complete line can end a block.
    const { done, rest } = text.includes('\n') ? splitBlocks(all) : { done: [], rest: all };
    let first = continues ? last.first : this.#last?.kind !== 'text';
    if (continues && last.id === this.#next - 1) this.#next = last.id;
    for (const block of done) {
      this.#push({ kind: 'text', text: block, first, done: true });
      first = false;
    }
    // A rest of only white space is kept, because it may belong to the next block.
    this.#push({ kind: 'text', text: rest, first, done: false });
  }

  /** Adds a thought, or appends a piece to the thought that the agent is still thinking. */
  #thought({ continues = false, ...thought }: AgentThought): void {
    const last = this.#open.at(-1);
    const isSame = last?.kind === 'thought' && !last.done && last.thought.agent === thought.agent;
    if (!continues || !isSame) {
      this.#closeText();
      this.#push({ kind: 'thought', thought, done: false });
      return;
    }
    const description = last.thought.description + thought.description;
    this.#open[this.#open.length - 1] = { ...last, thought: { ...thought, description } };
  }

  /** Finishes the text or the thought that was being streamed. */
  #closeText(): void {
    const last = this.#open.at(-1);
    if (last?.kind === 'thought' && !last.done) {
      this.#open[this.#open.length - 1] = { ...last, done: true };
    }
    if (last?.kind !== 'text' || last.done) return;
    this.#open.pop();
    const text = last.text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();
    if (text !== '') this.#open.push({ ...last, text, done: true });
  }

  #call(call: ToolCall): void {
    const at = this.#indexOf(call.tool_call_id);
    const done = hasEnded(call);
    if (at < 0) {
      this.#closeText();
      this.#answer = '';
      this.#push({ kind: 'call', call, done });
      return;
    }
    const known = this.#open[at] as CallEntry;
    const asksAgain =
      call.confirmation_request !== undefined &&
      call.correlationId !== known.decision?.correlationId;
    const { decision, ...rest } = known;
    this.#open[at] = { ...rest, call, done, ...(decision && !asksAgain && { decision }) };
  }

  #decide(confirmation: ToolCallConfirmation, by: Decision['by']): void {
    const at = this.#indexOf(confirmation.tool_call_id);
    const entry = this.#open[at];
    if (entry?.kind !== 'call' || entry.decision) return;
    const { options = [] } = entry.call.confirmation_request ?? {};
    const selected = selectedOption(confirmation, options);
    const name = options.find(({ id }) => id === selected)?.name ?? selected;
    const { reason, answer = reason } = confirmation;
    const words = isQuestion(entry) ? answer : reason && `${name}: ${reason}`;
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
      return { ...entry, done: true, ...(entry.kind === 'call' && { stopped: true }) };
    });
  }

  #sweep(): void {
    const stays = this.#open.findIndex(({ done }) => !done);
    this.#added.push(...this.#open.splice(0, stays < 0 ? this.#open.length : stays));
  }
}

/** Returns whether more text may be appended to the entry. */
function isStreamed(entry: Entry | undefined): boolean {
  return (entry?.kind === 'text' || entry?.kind === 'thought') && !entry.done;
}

/** Returns the text of a prompt, with `[NAME]` for each file and `[data]` for each data part. */
function textOfPrompt(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      return part.kind === 'file' ? `[${part.file.name ?? 'file'}]` : '[data]';
    })
    .join('\n');
}
