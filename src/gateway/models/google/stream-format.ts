/**
 * The two formats of a stream in Google's API. With `alt=sse`, the stream consists of server-sent events. Otherwise the
 * stream is a JSON array, whose elements are sent one after another.
 */

interface StreamFormat {
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns the text of one answer. */
  item(answer: object): string;
  /** Returns the text after the last `item`, which ends the stream. It may be empty. */
  end(): string;
}

export function sseFormat(): StreamFormat {
  return { item: (answer) => `data: ${JSON.stringify(answer)}\r\n\r\n`, end: () => '' };
}

export function arrayFormat(): StreamFormat {
  let isEmpty = true;
  return {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    item(answer) {
      const start = isEmpty ? '[' : ',\r\n';
      isEmpty = false;
      return start + JSON.stringify(answer);
    },
    end: () => (isEmpty ? '[]' : ']'),
  };
}

export async function* formatted(
  answers: AsyncIterable<object>,
  format: StreamFormat,
): AsyncGenerator<string> {
  for await (const answer of answers) yield format.item(answer);
  yield format.end();
}

/** Parses server-sent events and yields the answers in them. Each text must consist of complete events. */
export async function* answersIn(texts: AsyncIterable<string>): AsyncGenerator<object> {
  for await (const text of texts) {
    for (const event of text.split(/\r?\n\r?\n/)) {
      const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
      if (lines.length === 0) continue;
      yield JSON.parse(lines.map((line) => line.slice('data:'.length)).join('\n'));
    }
  }
}
