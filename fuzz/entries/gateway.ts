/**
 * The gateway on a port: every operation of its OpenAPI document, with bodies from the document's schemas. Answers must
 * be as the document says. Behind it are the offline model, a vendor whose answers are fuzzed too, and an agent.
 */
import { AssertionError } from 'node:assert';
import { echo } from '../../src/cli/agents/echo.ts';
import { serve } from '../../src/server.ts';
import { ENDPOINTS } from '../../test/gateway/endpoints-support.ts';
import { startGateway } from '../../test/support/gateway.ts';
import {
  assertDocumented,
  type OpenapiDocument,
  type Operation,
} from '../../test/support/openapi.ts';
import { openaiCompatible } from '../../test/support/vendors/openai-compatible.ts';
import { fakeVendor, type Reply } from '../../test/support/vendors/server.ts';
import { check, type Entry, Fault, type Input, type Target } from '../entry.ts';
import { ask, type Asked, checkStatus, headerText } from '../http.ts';
import { mutateJson, mutateText } from '../mutate.ts';
import type { Random } from '../random.ts';
import { valueOf } from '../schema.ts';
import { jsonText, text, type Json } from '../values.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const VENDOR_MODEL = 'vendor';
const MODELS = ['offline', VENDOR_MODEL, 'unknown'];
const MAX_KNOWN = 64;
const ANSWERS = [...openaiCompatible.answer, ...openaiCompatible.calls];

interface Head extends Asked {
  readonly operation: string;
  /** What the vendor answers. */
  readonly vendor: string | undefined;
}

async function start() {
  const agent = await serve(echo, { logger: silent }).listen(0);
  let vendorText: string | undefined;
  const vendor = await fakeVendor((): Reply => {
    if (vendorText === undefined) return { events: openaiCompatible.answer };
    const headers = { 'content-type': 'text/event-stream' };
    return { status: 200, body: vendorText, headers };
  });
  const gateway = await startGateway({
    config: {
      providers: {
        near: {
          type: 'openai-compatible',
          baseUrl: `${vendor.url}/v1`,
          models: ['m'],
          embeddingModels: ['e'],
          attempts: 1,
        },
      },
      models: { [VENDOR_MODEL]: { provider: 'near', model: 'm' } },
      agents: { echo: { url: agent.url } },
    },
    environment: { PARLEY_SECRET_KEY: 'a secret for tests' },
    allowNetworks: [],
  });
  const described = await gateway.ask(gateway.key(), 'GET', '/openapi.json');
  const document = (await described.json()) as OpenapiDocument;
  return {
    gateway,
    document,
    answerWith: (said: string | undefined) => void (vendorText = said),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await vendor[Symbol.asyncDispose]();
      await agent.close(0);
    },
  };
}

/** The value is about a model that exists, in most cases. */
function withModel(random: Random, value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (random.once(6)) return value;
  return 'model' in value ? { ...value, model: random.pick(MODELS) } : value;
}

const VALID = Object.values(ENDPOINTS);

async function openApi(isDialect: boolean): Promise<Target> {
  const server = await start();
  const { document, gateway } = server;
  let key = gateway.key();
  const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path, verb, operation })),
  );
  const isModel = (path: string): boolean => /^\/v1(beta)?\//.test(path);
  const chosen = operations.filter(({ path }) => isModel(path) !== isDialect);
  const byId = new Map<string, Operation>();
  for (const { operation } of operations) byId.set(operation.operationId, operation);
  const known: string[] = ['echo'];

  function bodyFor(random: Random, operation: Operation, path: string): Json | undefined {
    const schema = operation.requestBody?.content?.['application/json']?.schema;
    if (!schema) return undefined;
    const asked = { model: random.pick(MODELS), text: text(random), stream: random.once(2) };
    const more = { image: random.once(4), tool: random.once(4), maxTokens: 20 };
    const valid = VALID.map((endpoint) => endpoint.request({ ...asked, ...more }));
    const same = valid.find((each) => each.path.split('?')[0] === path);
    if (same && !random.once(3)) {
      const body: Json = JSON.parse(JSON.stringify(same.body));
      return random.once(3) ? body : mutateJson(random, body, Object.keys(same.body));
    }
    const made = withModel(random, valueOf(random, schema, document.components.schemas));
    return random.once(2) ? made : mutateJson(random, made);
  }

  return {
    make(random): Input {
      const { path, verb, operation } = random.pick(chosen);
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
        const found = name === 'model' ? random.pick(MODELS) : random.pick(known);
        // An empty name would make another path.
        const odd = text(random).slice(0, 200).toWellFormed() || found;
        return encodeURIComponent(random.once(5) ? odd : found);
      });
      const query = new URLSearchParams();
      for (const { name, in: where } of operation.parameters ?? []) {
        if (where === 'query' && random.once(3))
          query.set(name, text(random).slice(0, 200).toWellFormed());
      }
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      headers['authorization'] = random.once(30) ? headerText(random) : 'KEY';
      if (random.once(20)) headers['last-event-id'] = headerText(random);
      const head: Head = {
        method: verb.toUpperCase(),
        path: query.size > 0 ? `${filled}?${query.toString()}` : filled,
        headers,
        operation: operation.operationId,
        vendor: random.once(2)
          ? mutateText(
              random,
              random.pick([openaiCompatible.answer, openaiCompatible.calls]).join(''),
              ANSWERS,
            )
          : undefined,
      };
      const body = bodyFor(random, operation, filled);
      if (body === undefined) return { text: '', head };
      const written = jsonText(random, body);
      return { text: random.once(8) ? mutateText(random, written) : written, head };
    },
    async run({ text: body, head }) {
      const { operation: id, vendor, headers, ...rest } = head as Head;
      server.answerWith(vendor);
      const authorization = headers['authorization'] === 'KEY' ? `Bearer ${key}` : 'x';
      const asked = { ...rest, headers: { ...headers, authorization } };
      const answer = await ask(gateway.url, asked, body);
      checkStatus(answer);
      // A case may delete the key, or give it a rate limit.
      if (answer.status === 401 || answer.status === 429) key = gateway.key();
      const found = /"id":"([^"\\]{1,60})"/.exec(answer.text)?.[1];
      if (found !== undefined && answer.status < 300) {
        known.push(found);
        if (known.length > MAX_KNOWN) known.shift();
      }
      const operation = byId.get(id);
      check(operation !== undefined, 'no such operation');
      // The client closes a stream in which nothing happens, perhaps in the middle of an event.
      if (answer.headers['content-type']?.startsWith('text/event-stream')) return;
      const bodyText = [204, 304].includes(answer.status) ? null : answer.text;
      const { status } = answer;
      const response = new Response(bodyText, { status, headers: { ...answer.headers } });
      await assertDocumented(document, operation, response).catch((error: unknown) => {
        if (!(error instanceof AssertionError)) throw error;
        throw new Fault(`${id} answers ${status} otherwise than documented`, error.message);
      });
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export const GATEWAY: readonly Entry[] = [
  { name: 'gateway', share: 40, open: () => openApi(true) },
  { name: 'models', share: 40, open: () => openApi(false) },
];
