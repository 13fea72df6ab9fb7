/**
 * Collects the text and the thoughts that the agent and its helpers stream, until they are sent. Also chooses the
 * images that are shown.
 *
 * - Text is collected for about a tenth of a second. Smaller pieces would fill the task's history, because each piece
 *   stays there as a message. While more text may follow, the last character is held back for a short time. So there is
 *   usually text left for the final piece of the answer, which is marked as the last one.
 * - A thought is sent before the text or the call that follows it. A long thought is sent in pieces while the model
 *   thinks: a piece is sent after THOUGHT_MS, or when it has GATHER_CHARS characters. Each piece after the first one
 *   `continues` the thought, so that clients show one thought, even if the model sends one token at a time.
 */
import {
  contentText,
  isFinalResponse,
  type Content,
  type ContentPart,
  type Event,
} from '../../agent/index.ts';
import { splitLast } from '../../base/index.ts';
import { toA2AParts } from '../../bridge/index.ts';
import type { AgentThought, HelperMark } from '../../protocol/development-tool/index.ts';
import type { Part } from '../../protocol/index.ts';

/** Collected text is sent after GATHER_MS, or when it has GATHER_CHARS characters. */
const GATHER_MS = 100;
const GATHER_CHARS = 2048;
const THOUGHT_MS = 500;
/** Maximum time for which the last character is held back. */
const HELD_MS = 500;

/** A part of a message to send, and the kind of its event. */
export interface Utterance {
  readonly kind: 'THOUGHT' | 'TEXT_CONTENT';
  readonly part: Part;
  /**
   * Whether this part completes the agent's answer. If all text of the answer has already been sent, this part is
   * empty.
   */
  readonly isLast?: boolean;
}

export class Speech {
  /**
   * Whether a command runs while the turn waits for an answer. The output of such a command does not complete the
   * agent's answer, so the output is not marked `isLast`.
   */
  isBeside = false;
  readonly #images: ShownImages;
  #text = '';
  #textSince = 0;
  #thought = '';
  #thoughtSince = 0;
  /** The part of the current thought that has been sent. Empty if the next piece starts a new thought. */
  #begun = '';
  /** The part of the current answer that has been sent. */
  #said = '';
  /** The number of images of the current answer that were streamed. An image that is too large counts too. */
  #imagesSent = 0;

  constructor(images: ShownImages) {
    this.#images = images;
  }

  /** The time in milliseconds after which `pause` must be called, or undefined if there is nothing to send. */
  get pauseMs(): number | undefined {
    if (this.#thought !== '') {
      return Math.max(GATHER_MS, this.#thoughtSince + THOUGHT_MS - performance.now());
    }
    if (splitLast(this.#text).now !== '') return GATHER_MS;
    return this.#text === '' ? undefined : HELD_MS;
  }

  /** Returns the utterances to send after no text has arrived for `pauseMs`. */
  pause(): Utterance[] {
    if (this.#thought !== '') return this.#isThoughtDue ? this.#thoughtPiece() : [];
    return this.#flush(splitLast(this.#text).now !== '');
  }

  /** Adds a piece of an answer. Returns the utterances to send now. */
  piece({ content }: Event): Utterance[] {
    const out: Utterance[] = [];
    for (const part of content?.parts ?? []) {
      if (part.kind === 'thought') {
        if (this.#text !== '') out.push(...this.flush());
        if (this.#thought === '' && this.#begun === '') this.#thoughtSince = performance.now();
        this.#thought += part.text;
        const isLong = this.#thought.length >= GATHER_CHARS;
        if (isLong || this.#isThoughtDue) out.push(...this.#thoughtPiece());
      } else if (part.kind === 'text' && part.text !== '') {
        if (this.#thought !== '' || this.#begun !== '') out.push(...this.flush());
        if (this.#text === '') this.#textSince = performance.now();
        this.#text += part.text;
      } else if (part.kind === 'blob') {
        this.#imagesSent++;
        out.push(...this.flush(), ...this.#images.of([part]).map(asText));
      }
    }
    const due = performance.now() - this.#textSince >= GATHER_MS;
    if (this.#text !== '' && (due || this.#text.length >= GATHER_CHARS))
      out.push(...this.#flush(true));
    return out;
  }

  /** Processes a complete answer. Returns the utterances that have not been sent yet. */
  whole(event: Event): Utterance[] {
    const text = contentText(event.content);
    // The answer starts with the pieces that were streamed, unless it was changed after they were streamed.
    const isWhole = text.startsWith(this.#said + this.#text);
    const rest = isWhole ? text.slice(this.#said.length) : this.#text + text;
    this.#text = '';
    const out = this.flush();
    if (rest !== '') out.push(utterance(rest));
    const images = (event.content?.parts ?? []).filter(({ kind }) => kind === 'blob');
    out.push(...this.#images.of(images.slice(this.#imagesSent)).map(asText));
    this.#said = '';
    this.#imagesSent = 0;
    if (!isFinalResponse(event) || this.isBeside) return out;
    const last = out.at(-1);
    if (last?.kind === 'TEXT_CONTENT') out[out.length - 1] = { ...last, isLast: true };
    else if (text !== '') out.push({ ...utterance(''), isLast: true });
    return out;
  }

  /** Returns the collected text and the collected thought, and ends the thought. */
  flush(): Utterance[] {
    const out = this.#flush(false);
    this.#begun = '';
    return out;
  }

  #flush(keepLast: boolean): Utterance[] {
    const out: Utterance[] = [];
    if (this.#thought !== '') out.push(this.#sendThought());
    const { now, held } = keepLast ? splitLast(this.#text) : { now: this.#text, held: '' };
    if (now !== '') {
      this.#said += now;
      out.push(utterance(now));
    }
    this.#text = held;
    this.#textSince = performance.now();
    return out;
  }

  get #isThoughtDue(): boolean {
    return performance.now() - this.#thoughtSince >= THOUGHT_MS;
  }

  /**
   * Returns the collected piece of the thought. Returns an empty list if the piece is only white space or an incomplete
   * subject.
   */
  #thoughtPiece(): Utterance[] {
    const isSubject = this.#begun === '' && /^\s*\*\*[^*\n]{0,200}\*?$/.test(this.#thought);
    return isSubject || this.#thought.trim() === '' ? [] : [this.#sendThought()];
  }

  #sendThought(): Utterance {
    const begun = this.#begun;
    const piece = this.#thought;
    this.#begun = begun + piece;
    this.#thought = '';
    this.#thoughtSince = performance.now();
    const whole = thoughtOf(this.#begun);
    const data =
      begun === '' ? { ...whole } : { subject: whole.subject, description: piece, continues: true };
    return { kind: 'THOUGHT', part: { kind: 'data', data } };
  }
}

function utterance(text: string): Utterance {
  return asText({ kind: 'text', text });
}

function asText(part: Part): Utterance {
  return { kind: 'TEXT_CONTENT', part };
}

/**
 * Splits a thought into its subject and its description. Many models start a thought with its subject, for example
 * `**Reading the file** I will look at …`. If the thought has no such subject, the first line, shortened to 80
 * characters, is the subject, and the whole text is the description.
 */
export function thoughtOf(text: string): AgentThought {
  const [, subject, description] = /^\s*\*\*([^*\n]{1,200})\*\*\s*([^]*)$/.exec(text) ?? [];
  if (subject !== undefined)
    return { subject: subject.trim(), description: (description ?? '').trim() };
  const [first = ''] = text.trim().split('\n', 1);
  return {
    subject: first.length > 80 ? `${first.slice(0, 79)}…` : first,
    description: text.trim(),
  };
}

/** Maximum number of characters of a helper's streamed text that are kept. */
const MAX_TEXT = 16 * 1024;

/**
 * The text and the thoughts of a helper, as they are shown in the caller's turn.
 *
 * A helper's text is never sent as text of the answer, because clients would show it as the agent's own answer. While
 * the text is streamed, it is shown as the output of the `task` call. The helper's last answer is also the result of
 * this call. Text that accompanies calls is sent as a thought when it is complete.
 */
export class HelperSpeech {
  readonly mark: Required<HelperMark>;
  /** The model that the helper uses. */
  model: string;
  #thought = '';
  #text = '';

  constructor(mark: Required<HelperMark>, model: string) {
    this.mark = mark;
    this.model = model;
  }

  /** Processes an event. Returns the thoughts that are now complete, and the end of the text that is being streamed. */
  hear(event: Event): { readonly thoughts: readonly AgentThought[]; readonly text: string } {
    const { content, partial, metadata } = event;
    if (typeof metadata?.['model'] === 'string') this.model = metadata['model'];
    const thoughts: AgentThought[] = [];
    for (const part of partial === true ? (content?.parts ?? []) : []) {
      if (part.kind === 'thought') this.#thought += part.text;
      else if (part.kind === 'text') {
        thoughts.push(...this.#endThought());
        this.#text += part.text;
        // The text is limited, because all of it is shown again with each piece.
        if (this.#text.length > MAX_TEXT) this.#text = this.#text.slice(-MAX_TEXT / 2);
      }
    }
    const text = this.#text;
    if (partial === true) return { thoughts, text };
    thoughts.push(...this.#endThought());
    const whole = contentText(content);
    if (whole.trim() !== '' && !isFinalResponse(event)) thoughts.push(this.#marked(whole));
    this.#text = '';
    return { thoughts, text };
  }

  #endThought(): AgentThought[] {
    const thought = this.#thought;
    this.#thought = '';
    return thought === '' ? [] : [this.#marked(thought)];
  }

  #marked(text: string): AgentThought {
    return { ...thoughtOf(text), ...this.mark };
  }
}

/** Maximum size of one image, and of all images of an execution, in characters of base64. */
const MAX_IMAGE = 1024 * 1024;
const MAX_IMAGES = 4 * 1024 * 1024;

/**
 * The images that one execution of a turn shows to clients. They come from tools or from the model.
 *
 * An image becomes a file part in the task's log. Every client that joins later reads this part, so the size of images
 * is limited. A larger image is not shown, and clients see only the text beside it.
 */
export class ShownImages {
  #left = MAX_IMAGES;

  /** Returns the images among the parts that are small enough to be shown, as A2A parts. */
  of(parts: Content['parts'] = []): Part[] {
    return toA2AParts(parts.filter((part) => this.#fits(part)));
  }

  #fits(part: ContentPart): boolean {
    if (part.kind !== 'blob' || !part.mediaType.startsWith('image/')) return false;
    const { length } = part.data;
    if (length > Math.min(MAX_IMAGE, this.#left)) return false;
    this.#left -= length;
    return true;
  }
}
