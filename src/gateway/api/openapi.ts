/**
 * `/openapi.json`: OpenAPI 3.1, made from the table of routes and its schemas, so that it cannot say anything else than
 * what is served. The protocol's own endpoints are described in brief; what they say is A2A's to tell.
 */
import * as z from 'zod';
import type { GatewayRoute } from './route.ts';
import { schemaBook, type SchemaBook } from './schema-book.ts';

export interface OpenapiOptions {
  readonly routes: readonly GatewayRoute[];
  readonly version: string;
  readonly publicUrl?: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const JSON_TYPE = 'application/json';
const EVENTS_TYPE = 'text/event-stream';
const TEXT: Json = { type: 'string' };

const ErrorBody = z.object({ error: z.string().describe('What went wrong, in one line.') });

/** What every failure of ours may be, by status. */
const FAILURES: Readonly<Record<number, string>> = {
  400: 'The request is not as it should be; the error says which field.',
  401: 'No key, or none that counts.',
  403: 'The key lacks the scope.',
  404: 'There is no such thing in this workspace.',
  413: 'The body is too large.',
  429: 'Too many requests, or the budget is spent.',
  500: 'A failure of ours; the error has the id under which our log has the cause.',
  503: 'Not now: the store is away, or there is too much to do.',
};

const HEADERS: Readonly<Record<number, Json>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' } } },
  429: { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } },
  503: { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } },
};

export function openapiDocument({ routes, version, publicUrl }: OpenapiOptions): Json {
  const book = schemaBook();
  const errorRef = book.refOf('Error', ErrorBody, 'output');
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const operations = (paths[route.path] ??= {});
    operations[route.verb.toLowerCase()] = operationOf(route, book, errorRef);
  }
  for (const [path, operations] of Object.entries(PROTOCOL)) {
    paths[path] = { ...operations, ...paths[path] };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Parley gateway',
      version,
      description:
        'Models and agents behind one A2A endpoint. Beside these routes the gateway speaks A2A 0.3 and 1.0, as JSON-RPC and REST: the card says where.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl ?? '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      schemas: book.schemas(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A key, or a JWT of the issuer.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  };
}

function operationOf(route: GatewayRoute, book: SchemaBook, errorRef: Json): Json {
  const { verb, path, scope, summary, detail, query, body } = route;
  const id = operationId(verb, path);
  const parameters = [...pathParameters(path), ...(query ? queryParameters(query, book, id) : [])];
  return {
    operationId: id,
    tags: [tagOf(path)],
    summary,
    ...(detail !== undefined && { description: detail }),
    // For schemes without scopes of their own these are roles, says the specification.
    security: scope === 'open' ? [] : [{ bearer: [scope] }, { apiKey: [scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { [JSON_TYPE]: { schema: book.refOf(`${id}Request`, body, 'input') } },
      },
    }),
    responses: responsesOf(route, book, id, errorRef),
  };
}

function responsesOf(route: GatewayRoute, book: SchemaBook, id: string, errorRef: Json): Json {
  // A route with failures in words of its own has at least `error` in them.
  const failure = route.error
    ? { type: 'object', properties: { error: {} }, required: ['error'] }
    : errorRef;
  const responses: Record<string, Json> = {};
  for (const [status, answer] of Object.entries(route.answers)) {
    const { description, schema, contentType, alsoEvents } = answer;
    const json = schema ? book.refOf(`${id}${status}`, schema, 'output') : undefined;
    const failed = Number(status) >= 400 && contentType === undefined;
    const content: Record<string, Json> = {
      ...(contentType !== undefined && { [contentType]: { schema: json ?? TEXT } }),
      ...(contentType === undefined && json && { [JSON_TYPE]: { schema: json } }),
      ...(failed && !json && { [JSON_TYPE]: { schema: failure } }),
      ...(alsoEvents === true && { [EVENTS_TYPE]: { schema: TEXT } }),
    };
    responses[status] = { description, ...headersOf(Number(status)), ...contentOf(content) };
  }
  for (const status of failuresOf(route)) {
    responses[status] ??= {
      description: FAILURES[status],
      ...headersOf(status),
      content: { [JSON_TYPE]: { schema: failure } },
    };
  }
  return responses;
}

function headersOf(status: number): Json {
  return HEADERS[status] ? { headers: HEADERS[status] } : {};
}

function contentOf(content: Json): Json {
  return Object.keys(content).length > 0 ? { content } : {};
}

function failuresOf({ scope, body, query, path, resource }: GatewayRoute): number[] {
  const named = path.includes('{') || resource !== undefined;
  return [
    ...(body || query || named ? [400] : []),
    ...(scope === 'open' ? [] : [401, 403]),
    ...(named ? [404] : []),
    ...(body ? [413] : []),
    429,
    500,
    503,
  ];
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
}

function queryParameters(query: z.ZodObject, book: SchemaBook, id: string): Json[] {
  return Object.entries(query.shape).map(([name, schema]) => {
    const required = !z.safeParse(schema, undefined).success;
    return { name, in: 'query', required, schema: book.inline(`${id}.${name}`, schema, 'input') };
  });
}

/** `GET /a2a/model-cards/{id}` is `getA2aModelCardsById`. */
function operationId(verb: string, path: string): string {
  const words = path
    .replaceAll(/\{(\w+)\}/g, 'by-$1')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return verb.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

function tagOf(path: string): string {
  const [first = '', second] = path.split('/').slice(1);
  return (first === 'a2a' || first === 'v1') && second !== undefined ? second : 'operation';
}

const card = (summary: string): Json => ({
  tags: ['a2a'],
  summary,
  responses: {
    200: {
      description: 'The card, for clients of 0.3 and 1.0. It has an ETag.',
      content: { [JSON_TYPE]: { schema: { type: 'object' } } },
    },
    304: { description: 'As the client has it.' },
  },
});

const rpc = (summary: string): Json => ({
  tags: ['a2a'],
  summary,
  description:
    'JSON-RPC 2.0 with the methods of A2A 0.3 and 1.0; the header A2A-Version picks one. What streams is answered with server-sent events.',
  requestBody: {
    required: true,
    content: {
      [JSON_TYPE]: { schema: { type: 'object', required: ['jsonrpc', 'method'] } },
    },
  },
  responses: {
    200: {
      description: 'The result, or an error of JSON-RPC.',
      content: {
        [JSON_TYPE]: { schema: { type: 'object', required: ['jsonrpc'] } },
        [EVENTS_TYPE]: { schema: TEXT },
      },
    },
    401: { description: FAILURES[401] },
  },
});

const agentName = { parameters: pathParameters('{name}') };

/** What A2A itself serves. */
const PROTOCOL: Readonly<Record<string, Record<string, Json>>> = {
  '/': { post: { operationId: 'a2a', ...rpc('A2A, to the gateway itself') } },
  '/.well-known/agent-card.json': {
    get: { operationId: 'agentCard', security: [], ...card("The gateway's card") },
  },
  '/.well-known/agent.json': {
    get: {
      operationId: 'agentCardOld',
      security: [],
      ...card("The gateway's card, where it was to be found before 0.3"),
    },
  },
  '/agents/{name}': {
    post: { operationId: 'a2aAgent', ...rpc('A2A, to an agent behind the gateway'), ...agentName },
  },
  '/agents/{name}/.well-known/agent-card.json': {
    get: { operationId: 'agentCardOfAgent', ...card("An agent's card"), ...agentName },
  },
};
