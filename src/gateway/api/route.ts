/**
 * Types for the table of the gateway's own routes. The routes of the HTTP server, the check of scopes and
 * `/openapi.json` are all based on this table. The isolation test calls every route in the table from another
 * workspace. For this test, a route with a path parameter must set `resource` to the kind of object that the parameter
 * identifies.
 *
 *   defineRoute({
 *     verb: 'GET', path: '/a2a/model-cards/{id}', scope: 'cards:read', resource: 'card',
 *     summary: 'One model card', answers: { 200: { description: 'The card', schema: ModelCard } },
 *     handle: async ({ values: { id = '' }, caller }) => ({ body: await cards.get(caller.workspace, id) }),
 *   })
 */
import * as z from 'zod';
import { wordIssue } from '../../base/index.ts';
import { A2AError, type Call } from '../../protocol/index.ts';
import type { FailedRequest, RouteReply, RouteStream, RouteText } from '../../http/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import type { ApiScope, Caller } from './caller.ts';

/** The kind of object that the path or the body of a request identifies. Each object belongs to a workspace. */
export type Resource = 'task' | 'card' | 'key' | 'agent' | 'model';

/** The input of a route's handler. `body` and `query` are parsed by their schemas. */
export interface RouteInput<Body, Query = undefined> {
  /** The path parameters. */
  readonly values: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /** The context of the request, for the operations of `handler`. */
  readonly call: Call;
  /** The A2A operations on the gateway's tasks. */
  readonly handler: RequestHandler;
  header(name: string): string | undefined;
}

/** The input before `body` and `query` are parsed. */
export type RawInput = RouteInput<unknown, URLSearchParams>;

/** A response with a complete body. */
export type RouteAnswer = RouteReply;

/** One possible response, for `/openapi.json`. */
interface Answer {
  readonly description: string;
  /** The schema of a JSON body. */
  readonly schema?: z.ZodType;
  /** The content type, if it is not JSON. */
  readonly contentType?: string;
  /**
   * True if the client can request server-sent events instead, with a field of the body or a parameter of the query.
   */
  readonly alsoEvents?: boolean;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;

export interface RouteOptions<
  Body extends z.ZodType | undefined = z.ZodType | undefined,
  Query extends z.ZodObject | undefined = z.ZodObject | undefined,
> {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path of the route. `{name}` matches one segment. */
  readonly path: string;
  /** The scope that the caller needs. `any`: the caller needs no scope. `open`: the route needs no authentication. */
  readonly scope: ApiScope | 'any' | 'open';
  /** Kind of the object that the path or the body identifies. Required if there is such an object. */
  readonly resource?: Resource;
  /** True if the route always responds with a RouteStream. Its responses count towards the limit of open streams. */
  readonly events?: boolean;
  readonly summary: string;
  /** The description in `/openapi.json`. */
  readonly detail?: string;
  /**
   * The schema of the query. Query values are strings, so use `whole` (fields.ts) for numbers. Unknown parameters are
   * ignored.
   */
  readonly query?: Query;
  readonly body?: Body;
  /** Responses by status. openapi.ts adds the errors that follow from the other fields (400, 401, 403, 404, 413 …). */
  readonly answers: Readonly<Record<number, Answer>>;
  handle(
    input: RouteInput<Parsed<Body>, Parsed<Query>>,
  ): Promise<RouteAnswer | RouteText | RouteStream>;
  /** Creates the error response. Needed only if the error format is not `{"error": "…"}`. */
  error?(error: A2AError, request: FailedRequest): RouteAnswer;
}

/** A route in the table, without the types of its body and query. */
export interface GatewayRoute extends Omit<RouteOptions, 'handle'> {
  /** Parses the query and the body, and handles the request. */
  handle(input: RawInput): Promise<RouteAnswer | RouteText | RouteStream>;
}

/** Converts typed route options to an entry of the table. */
export function defineRoute<
  const Body extends z.ZodType | undefined = undefined,
  const Query extends z.ZodObject | undefined = undefined,
>(options: RouteOptions<Body, Query>): GatewayRoute {
  return {
    ...options,
    handle: (input) => {
      const query = options.query && parsed(options.query, Object.fromEntries(input.query));
      const body = options.body && parsed(options.body, input.body);
      return options.handle({
        ...input,
        // The type checker cannot infer that there is a result whenever there is a schema.
        query: query as Parsed<Query>,
        body: body as Parsed<Body>,
      });
    },
  };
}

/**
 * Parses `value`. Throws `invalidParams` if it is invalid. The message contains the name of the first invalid field, or
 * says that the body is missing or invalid.
 */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (value === undefined)
    throw new A2AError('invalidParams', 'The request has no body: send a body in JSON');
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') ?? '';
  const why = issue ? wordIssue(issue) : 'invalid';
  const message = field === '' ? `The body: ${why}` : `${field}: ${why}`;
  throw new A2AError('invalidParams', message, {
    ...(field !== '' && { violations: [{ field, description: why }] }),
  });
}
