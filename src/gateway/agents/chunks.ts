/**
 * Reads the chunks of a streamed text without parsing each of them as JSON.
 *
 * The chunks of an answer are usually the same JSON except for their text. When a chunk has been parsed and checked,
 * the JSON before and after its text is stored. If the next chunk begins and ends with the same JSON, only the text in
 * between has to be parsed. The event is then a copy of the last event with the new text. All other chunks are parsed
 * as usual.
 */
import type { StreamEvent, TaskArtifactUpdateEvent } from '../../protocol/index.ts';

const TEXT = '"text":"';
/**
 * Matches a second member `text` in the JSON before or after a chunk's text, or an escape that may hide such a member.
 * JSON that matches is not stored: a JSON parser uses the last of two members with the same name, and this may be the
 * second `text`.
 */
const ELSEWHERE = /"text"\s*:|\\u/;

export class ChunkReader {
  readonly #parse: (data: string, type: string) => StreamEvent;
  #before = '';
  #after = '';
  #type = '';
  #last: TaskArtifactUpdateEvent | undefined;

  constructor(parse: (data: string, type: string) => StreamEvent) {
    this.#parse = parse;
  }

  read(data: string, type: string): StreamEvent {
    const next = this.next(data, type);
    if (next) return next;
    const event = this.#parse(data, type);
    if (event.kind === 'artifact-update') this.#learn(event, data, type);
    return event;
  }

  /**
   * Returns the event in `data`. Returns undefined if the JSON in `data` differs from the stored JSON in more than the
   * text.
   */
  next(data: string, type: string): TaskArtifactUpdateEvent | undefined {
    const last = this.#last;
    const text = last !== undefined && type === this.#type ? this.#between(data) : undefined;
    if (last === undefined || text === undefined) return undefined;
    return { ...last, artifact: { ...last.artifact, parts: [{ kind: 'text', text }] } };
  }

  /** Returns the text, or undefined if the JSON around it differs from the JSON in the last chunk. */
  #between(data: string): string | undefined {
    const end = data.length - this.#after.length;
    if (end < this.#before.length) return undefined;
    if (!data.startsWith(this.#before) || !data.endsWith(this.#after)) return undefined;
    const literal = data.slice(this.#before.length, end);
    try {
      // JSON.parse copies the text. A slice would keep the whole event in memory until the log drops the text.
      const text: unknown = JSON.parse(`"${literal}"`);
      return typeof text === 'string' ? text : undefined;
    } catch {
      return undefined;
    }
  }

  #learn(event: TaskArtifactUpdateEvent, data: string, type: string): void {
    this.#last = undefined;
    const [part, more] = event.artifact.parts;
    // Inside a JSON string, the quotes in TEXT would be escaped. So if TEXT occurs only once, the text of the part
    // follows it.
    const at = data.indexOf(TEXT);
    if (part?.kind !== 'text' || more || at < 0 || at !== data.lastIndexOf(TEXT)) return;
    if (Object.keys(part).length !== 2) return;
    const begin = at + TEXT.length;
    let end = data.indexOf('"', begin);
    while (end > 0 && isEscaped(data, end)) end = data.indexOf('"', end + 1);
    if (end < 0 || ELSEWHERE.test(data.slice(0, at)) || ELSEWHERE.test(data.slice(end))) return;
    this.#before = data.slice(0, begin);
    this.#after = data.slice(end);
    this.#type = type;
    if (this.#between(data) === part.text) this.#last = event;
  }
}

function isEscaped(data: string, at: number): boolean {
  let slashes = 0;
  while (data[at - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}
