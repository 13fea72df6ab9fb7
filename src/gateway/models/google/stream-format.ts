/**
 * The two formats of a stream in Google's API. With `alt=sse`, the stream consists of server-sent events. Otherwise the
 * stream is a JSON array, whose elements are sent one after another.
 */

export interface StreamFormat {
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns the text of one answer. */
  item(answer: object): string;
  /** Returns the text of the last answer, including the end of the stream. */
  last(answer: object): string;
  /** Returns the end of a stream after its last `item`. */
  end(): string;
}

export function sseFormat(): StreamFormat {
  const item = (answer: object): string => `data: ${JSON.stringify(answer)}\r\n\r\n`;
  return { item, last: item, end: () => '' };
}

export function arrayFormat(): StreamFormat {
  let isEmpty = true;
  const item = (answer: object): string => {
    const start = isEmpty ? '[' : ',\r\n';
    isEmpty = false;
    return start + JSON.stringify(answer);
  };
  return {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    item,
    last: (answer) => `${item(answer)}]`,
    end: () => (isEmpty ? '[]' : ']'),
  };
}

export async function* formatted(
  answers: AsyncIterable<object>,
  format: StreamFormat,
): AsyncGenerator<string> {
  for await (const answer of answers) yield format.item(answer);
  const end = format.end();
  if (end !== '') yield end;
}

/** Returns the answers in server-sent events. Each text must consist of complete events. */
export async function* answersIn(texts: AsyncIterable<string>): AsyncGenerator<object> {
  for await (const text of texts) {
    for (const event of text.split(/\r?\n\r?\n/)) {
      const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
      if (lines.length === 0) continue;
      yield JSON.parse(lines.map((line) => line.slice('data:'.length)).join('\n'));
    }
  }
}
