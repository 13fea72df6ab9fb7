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
import { wordIssue } from '../../base/index.ts';
import { A2AError, type Call } from '../../protocol/index.ts';
import type { Opening, Published, RequestHandler, TaskStream } from '../../tasks/index.ts';
import type { Caller, Scope } from './caller.ts';

/** What a path's parameter stands for. Each belongs to a workspace. */
export type Resource = 'task' | 'card' | 'key' | 'agent' | 'model';

/** Body and query are as their schemas made them. */
export interface RouteInput<Body, Query = undefined> {
  /** The path's parameters. */
  readonly values: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /** For the handler's operations. */
  readonly call: Call;
  /** The A2A operations on the tasks of the door that was used. */
  readonly handler: RequestHandler;
  header(name: string): string | undefined;
}

/** Body and query are as they came. */
export type RawInput = RouteInput<unknown, URLSearchParams>;

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

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;

export interface RouteOptions<
  Body extends z.ZodType | undefined = z.ZodType | undefined,
  Query extends z.ZodObject | undefined = z.ZodObject | undefined,
> {
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
  /** Takes texts: numbers are `whole` (page.ts). What it does not name is passed over. */
  readonly query?: Query;
  readonly body?: Body;
  /** By status. The failures that every route has (401, 403, 429, 500, 503) need not be named. */
  readonly answers: Readonly<Record<number, Answer>>;
  handle(
    input: RouteInput<Parsed<Body>, Parsed<Query>>,
  ): Promise<RouteAnswer | RouteText | RouteEvents>;
  /** A failure in other words than `{"error": "…"}`. */
  error?(error: A2AError): RouteAnswer;
}

/** A route of the table, the types of its body and query forgotten. */
export interface GatewayRoute extends Omit<RouteOptions, 'handle'> {
  /** Checks the query and the body against their schemas first. */
  handle(input: RawInput): Promise<RouteAnswer | RouteText | RouteEvents>;
}

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
        // Parsed or undefined, as the types say: the checker cannot follow the condition.
        query: query as Parsed<Query>,
        body: body as Parsed<Body>,
        header: (name) => input.header(name),
      });
    },
  };
}

/** What the schema makes of it; else `invalidParams`, whose message names the first field that is wrong. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (value === undefined) throw new A2AError('invalidParams', 'There is no body: send it as JSON');
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') ?? '';
  const why = issue ? wordIssue(issue) : 'not as it should be';
  const message = field === '' ? `The body: ${why}` : `${field}: ${why}`;
  throw new A2AError('invalidParams', message, {
    ...(field !== '' && { violations: [{ field, description: why }] }),
  });
}
