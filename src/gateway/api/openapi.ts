/**
 * Generates `/openapi.json` (OpenAPI 3.1) from the route table and its schemas, so that the document always matches the
 * routes. The A2A endpoints are described only briefly, because the A2A specification has the details.
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

export const ErrorBody = z.object({
  error: z.string().describe('The error message, in one line.'),
});

/**
 * Descriptions of the errors of the A2A endpoints, and of the errors that are derived from a route's fields. A route's
 * own description takes precedence.
 */
const FAILURES = {
  400: 'The request is invalid. The error contains the name of the invalid field.',
  401: 'The key is missing or invalid.',
  403: 'The key does not have the required scope.',
  404: 'The workspace has no such agent.',
  413: 'The body is too large.',
  429: 'Too many requests, or the budget is used up.',
  500: 'Internal error. The message contains the id of the log entry with the cause.',
  503: 'The store is unavailable, or the gateway is overloaded.',
} as const;

const RETRY_AFTER: Json = {
  'Retry-After': { description: 'Number of seconds to wait.', schema: { type: 'integer' } },
};

const HEADERS: Readonly<Record<number, Json>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' } } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
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
        'Models and agents behind one A2A endpoint. In addition to these routes, the gateway serves A2A 0.3 and 1.0 over JSON-RPC and REST. The agent card lists the addresses.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl ?? '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      schemas: book.schemas(),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key, or a JWT from the configured OIDC issuer.',
        },
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
    // OpenAPI 3.1: for schemes other than OAuth2 and OpenID Connect, the list may contain required roles.
    security: scope === 'open' ? [] : [{ bearer: rolesOf(scope) }, { apiKey: rolesOf(scope) }],
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

function rolesOf(scope: GatewayRoute['scope']): readonly string[] {
  return scope === 'any' ? [] : [scope];
}

function responsesOf(route: GatewayRoute, book: SchemaBook, id: string, errorRef: Json): Json {
  // A route's own error format has at least the field `error`.
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
  for (const [status, description] of failuresOf(route)) {
    responses[status] ??= {
      description,
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

/** Returns the errors that are derived from a route's fields. The map contains descriptions by status. */
export function failuresOf(route: GatewayRoute): ReadonlyMap<number, string> {
  const { scope, body, query, resource } = route;
  const statuses = [
    ...(body || query || resource ? [400 as const] : []),
    ...(scope === 'open' ? [] : [401 as const]),
    ...(scope === 'open' || scope === 'any' ? [] : [403 as const]),
    ...(body ? [413 as const] : []),
    ...([429, 500, 503] as const),
  ];
  const failures = new Map<number, string>(statuses.map((status) => [status, FAILURES[status]]));
  const noun = resource === 'card' ? 'model card' : resource;
  if (noun) failures.set(404, `The workspace has no such ${noun}.`);
  return failures;
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

/** Returns the id of an operation, for example `getA2aModelCardsById` for `GET /a2a/model-cards/{id}`. */
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
      description: 'The agent card, for clients of 0.3 and 1.0, with an ETag.',
      content: { [JSON_TYPE]: { schema: { type: 'object' } } },
    },
    304: { description: 'The card has not changed.' },
    ...refusals([401, 403, 404, 429, 503], ['error']),
  },
});

/** Returns the error responses with these statuses. Their body is an object with the fields `required`. */
function refusals(statuses: readonly (keyof typeof FAILURES)[], required: readonly string[]): Json {
  const content = { [JSON_TYPE]: { schema: { type: 'object', required } } };
  const entries = statuses.map((status) => [
    status,
    { description: FAILURES[status], ...headersOf(status), content },
  ]);
  return Object.fromEntries(entries);
}

const rpc = (summary: string): Json => ({
  tags: ['a2a'],
  summary,
  description:
    'JSON-RPC 2.0 with the methods of A2A 0.3 and 1.0. The header A2A-Version selects the version. Streaming methods respond with server-sent events.',
  requestBody: {
    required: true,
    content: {
      [JSON_TYPE]: { schema: { type: 'object', required: ['jsonrpc', 'method'] } },
    },
  },
  responses: {
    200: {
      description: 'The result, or a JSON-RPC error.',
      content: {
        [JSON_TYPE]: { schema: { type: 'object', required: ['jsonrpc'] } },
        [EVENTS_TYPE]: { schema: TEXT },
      },
    },
    ...refusals([401, 403, 413, 429, 503], ['jsonrpc', 'error']),
  },
});

const agentName = { parameters: pathParameters('{name}') };

/** The A2A endpoints. */
const PROTOCOL: Readonly<Record<string, Record<string, Json>>> = {
  '/': { post: { operationId: 'a2a', ...rpc('A2A requests to the gateway itself') } },
  '/.well-known/agent-card.json': {
    get: { operationId: 'agentCard', security: [], ...card("The gateway's card") },
  },
  '/.well-known/agent.json': {
    get: {
      operationId: 'agentCardOld',
      security: [],
      ...card("The gateway's card, at the address that was used before A2A 0.3"),
    },
  },
  '/agents/{name}': {
    post: {
      operationId: 'a2aAgent',
      ...rpc('A2A requests to an agent behind the gateway'),
      ...agentName,
    },
  },
  '/agents/{name}/.well-known/agent-card.json': {
    get: { operationId: 'agentCardOfAgent', ...card("An agent's card"), ...agentName },
  },
};
