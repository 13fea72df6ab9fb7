/** A client for the fuzzer: sends what it is told, and reads what comes back. */
import { Agent, request as httpRequest } from 'node:http';
import { check } from './entry.ts';
import type { Random } from './random.ts';
import { oddText, toBytes } from './values.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A stream that says nothing for this long is closed. */
const QUIET_MS = 40;
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

export function ask(
  url: string,
  { method, path, headers }: Asked,
  body: string,
): Promise<Answered> {
  const { port } = new URL(url);
  const bytes = method === 'GET' ? Buffer.alloc(0) : toBytes(body);
  const length = bytes.length > 0 ? { 'content-length': String(bytes.length) } : {};
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port, method, path: inPath(path), agent };
    const sent = httpRequest({ ...target, headers: { ...headers, ...length } }, (response) => {
      let text = '';
      const done = (): void => {
        clearTimeout(quiet);
        const found = Object.entries(response.headers).map(([name, value]) => [
          name,
          String(value),
        ]);
        resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(found), text });
        if (!response.complete) response.destroy();
      };
      const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
      let quiet: NodeJS.Timeout | undefined = isStream ? setTimeout(done, 4 * QUIET_MS) : undefined;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (!isStream) return;
        clearTimeout(quiet);
        quiet = setTimeout(done, QUIET_MS);
      });
      response.once('end', done);
      response.once('error', done);
    });
    sent.once('error', reject);
    sent.end(bytes);
  });
}

/** Node itself refuses longer request lines. */
const MAX_PATH = 4000;

/** Only these characters can be in a request line. */
function inPath(path: string): string {
  const short = path.slice(0, MAX_PATH);
  return short.replaceAll(/[^\x21-\x7e]/g, (char) => encodeURIComponent(char.toWellFormed()));
}

/** A value for a header. */
export function headerText(random: Random): string {
  return oddText(random)
    .replaceAll(/[^\x20-\x7e]/g, '')
    .trim();
}

/** The JSON values in an answer: its body, or the data of each event. */
export function valuesIn({ headers, text }: Answered): unknown[] {
  const type = headers['content-type'] ?? '';
  if (text === '') return [];
  if (type.startsWith('text/event-stream')) {
    // The last event may be incomplete, because the client has closed the stream.
    const events = text.split('\n\n').slice(0, -1);
    return events.flatMap((event) => {
      const data = event.split('\n').filter((line) => line.startsWith('data: '));
      return data.length === 0 ? [] : [parsed(data.map((line) => line.slice(6)).join('\n'))];
    });
  }
  // The page for people.
  if (type.startsWith('text/plain') && text.includes('This is an A2A agent')) return [];
  check(/json/.test(type), `an answer is ${type}`, text);
  return [parsed(text)];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    check(text === '[DONE]', 'an answer is not JSON', text);
    return undefined;
  }
}

/** Every error is the client's, or says when to come back. */
export function checkStatus({ status, headers, text }: Answered): void {
  // 529 is how Anthropic says that a model is overloaded.
  const isExplained = status < 500 || [501, 502, 504, 529].includes(status);
  const isBusy = status === 503 && headers['retry-after'] !== undefined;
  check(isExplained || isBusy, `a request gets ${status}`, text);
}
