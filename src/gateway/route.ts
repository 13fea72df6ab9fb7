/**
 * The gateway's own routes. One table is what is served, what `/openapi.json` says, which scope a caller needs, and what
 * the isolation test tries from another workspace: a route that has a parameter has to say what it stands for.
 *
 *   defineRoute({
 *     verb: 'GET', path: '/a2a/model-cards/{id}', scope: 'cards:read', resource: 'card',
 *     summary: 'One model card', answers: { 200: { description: 'The card', schema: ModelCard } },
 *     handle: async ({ values, caller }) => ({ body: cards.get(caller.workspace, values.id) }),
 *   })
 */
import * as z from 'zod';
import { A2AError, type Call } from '../protocol/index.ts';
import type { Opening, Published, RequestHandler, TaskStream } from '../server/index.ts';
import type { Caller, Scope } from './caller.ts';

/** What a path's parameter stands for. Each belongs to a workspace. */
export type Resource = 'task' | 'card' | 'key' | 'agent' | 'model';

export interface RouteInput<Body> {
  /** The path's parameters. */
  readonly values: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** As its schema made it. */
  readonly body: Body;
  readonly caller: Caller;
  /** For the handler's operations. */
  readonly call: Call;
  /** The A2A operations on the tasks of the door that was used. */
  readonly handler: RequestHandler;
  header(name: string): string | undefined;
}

/** An answer that is there at once. */
export interface RouteAnswer {
  /** 200 unless told. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a string with a content-type of its own in `headers` as it is. Undefined: nothing is sent. */
  readonly body?: unknown;
}

/** Text that comes bit by bit, with backpressure; when the client leaves, `return` is called. */
export interface RouteText {
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<string>;
}

/** A task's events, as server-sent events in the route's own words. */
export interface RouteEvents {
  readonly stream: TaskStream;
  /** An event as text for the wire; empty where the client is not to see it. */
  readonly frame: (item: Published | Opening) => string;
}

interface Answer {
  readonly description: string;
  /** Of the JSON body. Absent: there is none, or it is no JSON. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  /** Server-sent events instead, where the body asks for them. */
  readonly alsoEvents?: boolean;
}

export interface RouteOptions<Body extends z.ZodType | undefined = z.ZodType | undefined> {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `{name}` stands for one segment. */
  readonly path: string;
  /** `open`: everybody may, without a key. */
  readonly scope: Scope | 'open';
  /** Needed where the path, or the body, names something that belongs to a workspace. */
  readonly resource?: Resource;
  /** It always answers with a task's events (RouteEvents): a place among the streams is taken before it begins. */
  readonly events?: boolean;
  readonly summary: string;
  /** Longer, for the description in `/openapi.json`. */
  readonly detail?: string;
  readonly query?: z.ZodObject;
  readonly body?: Body;
  /** By status. The failures that every route has (401, 403, 429, 500, 503) need not be named. */
  readonly answers: Readonly<Record<number, Answer>>;
  handle(
    input: RouteInput<Body extends z.ZodType ? z.infer<Body> : undefined>,
  ): Promise<RouteAnswer | RouteText | RouteEvents>;
  /** A failure in other words than `{"error": "…"}`. */
  error?(error: A2AError): RouteAnswer;
}

/** A route of the table, its body's type forgotten. */
export interface GatewayRoute extends Omit<RouteOptions, 'handle'> {
  /** Checks the body against its schema first. */
  handle(input: RouteInput<unknown>): Promise<RouteAnswer | RouteText | RouteEvents>;
}

export function defineRoute<const Body extends z.ZodType | undefined = undefined>(
  options: RouteOptions<Body>,
): GatewayRoute {
  const { body: schema, handle } = options;
  type Parsed = Body extends z.ZodType ? z.infer<Body> : undefined;
  return {
    ...options,
    handle: (input) => {
      // Parsed or undefined, as the type says: the checker cannot follow the condition.
      const body = (schema === undefined ? undefined : parsed(schema, input.body)) as Parsed;
      return handle({ ...input, body, header: (name) => input.header(name) });
    },
  };
}

/** What the schema makes of it; else `invalidParams`, whose message names the first field that is wrong. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') ?? '';
  const why = issue?.message ?? 'not as it should be';
  throw new A2AError('invalidParams', field === '' ? `The body: ${why}` : `${field}: ${why}`);
}
