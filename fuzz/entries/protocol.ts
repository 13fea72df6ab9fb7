/** What the client and the server read of the protocol, without a network. */
import {
  connect,
  ConnectionError,
  RemoteAgentError,
  webhookReceiver,
} from '../../src/client/index.ts';
import { verifyCard } from '../../src/client/connection/verify-card.ts';
import { CardSignatureError, TaskFailedError } from '../../src/client/connection/errors.ts';
import { choose } from '../../src/client/connection/discover.ts';
import { createSseParser, type SseEvent } from '../../src/client/connection/sse.ts';
import { temporarySigningKeys } from '../../src/base/signing/index.ts';
import { readMessage, readStatus, readTask } from '../../src/protocol/development-tool/index.ts';
import { A2AError, codecOf, inspectJson, type StreamEvent } from '../../src/protocol/index.ts';
import { OPERATIONS } from '../../src/protocol/methods.ts';
import { CARD, EVENTS, KEYS, METHODS, params, type Version } from '../a2a.ts';
import { recorded } from '../corpus.ts';
import { check, type Entry, type Input, pure, refusing, refusingAsync } from '../entry.ts';
import { mutateJson, mutateText } from '../mutate.ts';
import type { Random } from '../random.ts';
import { json, jsonText, text, toBytes, type Json } from '../values.ts';

const VERSIONS: readonly Version[] = ['0.3', '1.0'];
const CODECS = VERSIONS.flatMap((version) =>
  (['JSONRPC', 'HTTP+JSON'] as const).map((binding) => codecOf(version, binding)),
);
const NOTHING = { tasks: ['t'] };
const RECORDED = recorded();

function anyEvent(random: Random): Json {
  return random.pick([...EVENTS['0.3'], ...EVENTS['1.0']]);
}

function value(random: Random): Json {
  switch (random.int(5)) {
    case 0:
      return mutateJson(random, random.pick(RECORDED), KEYS);
    case 1:
      return json(random, KEYS, 5);
    case 2: {
      const version = random.pick(VERSIONS);
      const method = random.pick(METHODS[version]);
      return mutateJson(random, params(random, version, method, NOTHING), KEYS);
    }
    default:
      return mutateJson(random, anyEvent(random), KEYS);
  }
}

function hasSlash(value: unknown): boolean {
  return typeof value === 'string' && value.includes('/');
}

/** What a codec has read, it can write and read again. */
function codecs(source: string): void {
  const raw = refusing((): unknown => JSON.parse(source), SyntaxError);
  if (refusing(() => (inspectJson(raw), true), A2AError) === undefined) return;
  for (const codec of CODECS) {
    for (const operation of OPERATIONS) {
      const read = refusing(() => codec.decodeParams(operation, raw), A2AError);
      // REST names a webhook by a path, so the id of its task cannot contain a slash.
      if (read === undefined || ('taskId' in read && hasSlash(read.taskId))) continue;
      // A codec may leave out what it does not know, but only once.
      const again = codec.decodeParams(operation, codec.encodeParams(operation, read));
      const third = codec.decodeParams(operation, codec.encodeParams(operation, again));
      check(same(third, again), `${operation} of ${codec.version} changes when it is sent again`);
    }
    const event = refusing(() => codec.decodeEvent(raw), A2AError);
    if (event !== undefined) {
      const written = codec.encodeEvent(event);
      const quick = codec.eventText?.(event);
      if (quick !== undefined) check(same(JSON.parse(quick), written), 'eventText differs');
      // As above: an empty name, for example, is the same as none.
      const again = codec.encodeEvent(codec.decodeEvent(JSON.parse(JSON.stringify(written))));
      const third = codec.encodeEvent(codec.decodeEvent(JSON.parse(JSON.stringify(again))));
      check(same(third, again), 'an event changes when it is sent again');
      facts(event);
    }
    check(codec.decodeError(raw, 400) instanceof A2AError, 'an error is not read');
    const card = refusing(() => codec.decodeCard(raw), A2AError);
    if (card) codec.encodeCard(card);
  }
}

function facts(event: StreamEvent): void {
  if (event.kind === 'task') readTask(event);
  else if (event.kind === 'message') readMessage(event);
  else if (event.kind === 'status-update') readStatus(event);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(raw: unknown): unknown {
  if (Array.isArray(raw)) return raw.map(sorted);
  if (typeof raw !== 'object' || raw === null) return raw;
  return Object.fromEntries(
    Object.entries(raw)
      .filter(([, each]) => each !== undefined)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}

/** Events of a stream, as a server sends them. */
function stream(random: Random, version: Version): string {
  const frames = Array.from({ length: 1 + random.int(5) }, (_, at) => {
    const event = random.once(3)
      ? mutateJson(random, random.pick(EVENTS[version]), KEYS)
      : random.pick(EVENTS[version]);
    const data = jsonText(random, { jsonrpc: '2.0', id: 1, result: event });
    return `id: ${at}\ndata: ${data}\n\n`;
  });
  const whole = frames.join(random.once(6) ? ': heartbeat\n\n' : '');
  return random.once(2) ? mutateText(random, whole, frames) : whole;
}

function cuts(random: Random): number[] {
  return random.list(6, () => random.int(600)).toSorted((one, other) => one - other);
}

function chunked(bytes: Buffer, head: unknown): Buffer[] {
  const at = [0, ...(Array.isArray(head) ? head.map(Number) : []), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

/** How a stream is cut into chunks must not change its events. */
function sse(source: string, head: unknown): void {
  const bytes = toBytes(source);
  const whole = createSseParser()(bytes);
  const parse = createSseParser();
  const pieces: SseEvent[] = chunked(bytes, head).flatMap((chunk) => parse(chunk));
  check(same(whole, pieces), 'the events depend on the chunks');
}

const CARD_URL = 'http://127.0.0.1:9/.well-known/agent-card.json';

/** A client that gets this card, these answers and these streams. */
async function client(source: string, head: unknown): Promise<void> {
  const { card, type, version } = head as { card: Json; type: string; version: Version };
  const fetch = async (input: string | URL | Request): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    const isCard = url.includes('.well-known');
    if (isCard) return new Response(JSON.stringify(card));
    return new Response(toBytes(source), { headers: { 'content-type': type } });
  };
  const signal = AbortSignal.timeout(5000);
  const known = [A2AError, ConnectionError, RemoteAgentError, TaskFailedError, CardSignatureError];
  await refusingAsync(
    async () => {
      const agent = await connect('http://127.0.0.1:9/', {
        fetch,
        signal,
        version,
        retry: { attempts: 0 },
      });
      await refusingAsync(async () => void (await agent.send('hello')), ...known);
      for await (const { event } of agent.stream('hello')) facts(event);
    },
    ...known,
  );
}

function clientInput(random: Random): Input {
  const version = random.pick(VERSIONS);
  const isStream = !random.once(3);
  const card = random.once(4) ? mutateJson(random, CARD, KEYS) : CARD;
  const answer = { jsonrpc: '2.0', id: 1, result: mutateJson(random, anyEvent(random), KEYS) };
  const type = isStream ? 'text/event-stream' : 'application/json';
  const head = { card, version, type: random.once(12) ? 'text/html' : type };
  return { text: isStream ? stream(random, version) : jsonText(random, answer), head };
}

const signing = temporarySigningKeys();
const KEYSET = { keys: signing.publicKeys };

/** A card from anywhere. */
async function cards(source: string): Promise<void> {
  const raw = refusing((): unknown => JSON.parse(source), SyntaxError);
  for (const codec of CODECS) {
    const card = refusing(() => codec.decodeCard(raw), A2AError);
    if (!card) continue;
    refusing(() => choose({ card, url: CARD_URL }), ConnectionError);
    JSON.stringify(codec.encodeCard(card));
  }
  const fetch = async () => new Response(source);
  for (const trust of [KEYSET, true] as const) {
    const known = [CardSignatureError, A2AError];
    const verified = await refusingAsync(
      () => verifyCard(raw, CARD_URL, trust, { fetch }),
      ...known,
    );
    check(verified === undefined, 'a card that was never signed is verified');
  }
}

const receiver = webhookReceiver({
  ...KEYSET,
  onEvent: () => {},
  onError: (error) => failed(error),
});
const failed = (error: unknown): void => void errors.push(error);
const errors: unknown[] = [];

interface Hook {
  readonly signed: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

function hookInput(random: Random): Input {
  const body = random.once(3)
    ? mutateText(random, stream(random, '1.0'))
    : jsonText(random, value(random));
  const headers: Record<string, string> = {};
  const odd = () =>
    text(random)
      .replaceAll(/[^\x20-\x7e]/g, '')
      .trim();
  if (random.once(3)) headers['webhook-signature'] = `v1a,${odd()}`;
  if (random.once(5)) headers['webhook-id'] = odd();
  if (random.once(5)) headers['webhook-timestamp'] = odd();
  return { text: body, head: { signed: Object.keys(headers).length === 0, headers } };
}

async function hook(source: string, head: unknown): Promise<void> {
  const { signed, headers } = head as Hook;
  const body = toBytes(source);
  const time = String(Math.floor(Date.now() / 1000));
  const id = `t.c.${time}${body.length % 10}`;
  const data = Buffer.concat([Buffer.from(`${id}.${time}.`), body]);
  const right = {
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': `v1a,${signing.sign(data).toString('base64')}`,
  };
  const init = { method: 'POST', body, headers: { ...right, ...headers } };
  const answer = await receiver.fetch(new Request('http://127.0.0.1/hook', init));
  const allowed = [204, 400, 401];
  const [error] = errors.splice(0);
  check(allowed.includes(answer.status), `the receiver answers ${answer.status}`, String(error));
  if (!signed)
    check(
      answer.status !== 204 || !('webhook-signature' in headers),
      'a wrong signature is accepted',
    );
}

export const PROTOCOL: readonly Entry[] = [
  pure('codec', 90, (random) => jsonText(random, value(random)), codecs),
  pure('sse', 120, (random) => ({ text: stream(random, '0.3'), head: cuts(random) }), sse),
  pure('card', 40, (random) => jsonText(random, mutateJson(random, CARD, KEYS)), cards),
  pure('client', 30, clientInput, client),
  pure('webhook', 30, hookInput, hook),
];
