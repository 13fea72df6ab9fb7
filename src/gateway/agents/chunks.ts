/**
 * Reads a stream of text without parsing each of its chunks.
 *
 * The chunks of an answer are the same JSON but for the text in them. So after one was parsed and checked, the next is
 * compared with what stood before and behind its text; if both are there and what is between them is a JSON string, the
 * whole would be parsed to the same event with this text. Everything else is parsed as usual.
 */
import type { StreamEvent, TaskArtifactUpdateEvent } from '../../protocol/index.ts';

const TEXT = '"text":"';
/** The same name in another spelling: of two of a name, a parser takes the last. */
const ELSEWHERE = /"text"\s*:|\\u/;

export class ChunkReader {
  readonly #parse: (data: string, type: string) => StreamEvent;
  #before = '';
  #behind = '';
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

  /** The next chunk of the same text; undefined where it is something else. */
  next(data: string, type: string): TaskArtifactUpdateEvent | undefined {
    const last = this.#last;
    const text = last !== undefined && type === this.#type ? this.#between(data) : undefined;
    if (last === undefined || text === undefined) return undefined;
    return { ...last, artifact: { ...last.artifact, parts: [{ kind: 'text', text }] } };
  }

  /** The text, where the rest is as it was the last time. */
  #between(data: string): string | undefined {
    const end = data.length - this.#behind.length;
    if (end < this.#before.length) return undefined;
    if (!data.startsWith(this.#before) || !data.endsWith(this.#behind)) return undefined;
    const literal = data.slice(this.#before.length, end);
    try {
      // A text of its own: a slice would hold the whole event in memory for as long as the log has its text.
      const text: unknown = JSON.parse(`"${literal}"`);
      return typeof text === 'string' ? text : undefined;
    } catch {
      return undefined;
    }
  }

  #learn(event: TaskArtifactUpdateEvent, data: string, type: string): void {
    this.#last = undefined;
    const [part, more] = event.artifact.parts;
    // Inside of a string the quotes would be escaped: where this stands once, it is the part's own text.
    const at = data.indexOf(TEXT);
    if (part?.kind !== 'text' || more || at < 0 || at !== data.lastIndexOf(TEXT)) return;
    if (Object.keys(part).length !== 2) return;
    const begin = at + TEXT.length;
    let end = data.indexOf('"', begin);
    while (end > 0 && isEscaped(data, end)) end = data.indexOf('"', end + 1);
    if (end < 0 || ELSEWHERE.test(data.slice(0, at)) || ELSEWHERE.test(data.slice(end))) return;
    this.#before = data.slice(0, begin);
    this.#behind = data.slice(end);
    this.#type = type;
    if (this.#between(data) === part.text) this.#last = event;
  }
}

function isEscaped(data: string, at: number): boolean {
  let slashes = 0;
  while (data[at - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}
