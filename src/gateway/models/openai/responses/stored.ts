/**
 * Stores responses for `previous_response_id`. A stored response is a completed task of the caller's workspace. The
 * task belongs to a separate endpoint (`responses`), so that no other endpoint shows it. The task's context id is the
 * id of the response. The task contains the items of the request and of the answer. It does not contain the items of
 * earlier responses. In its data, `previous` is the id of the response before this one. The task expires like any other
 * task.
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import type { Call } from '../../../../protocol/index.ts';
import { callWith, type RequestHandler } from '../../../../tasks/index.ts';
import type { RouteInput } from '../../../api/route.ts';
import { RESPONSES_TENANT } from '../../../api/caller.ts';
import { invalidField } from '../../vendor-api/request.ts';
import type { ResponseObject } from './answer.ts';
import { Item } from './schema.ts';

type Input = Pick<RouteInput<unknown>, 'caller' | 'call' | 'handler'>;

const Stored = z.looseObject({
  previous: z.string().optional(),
  input: z.array(Item),
  response: z.looseObject({ output: z.array(Item) }),
});
type Stored = z.infer<typeof Stored>;

/** Maximum number of responses in one conversation, and of characters of all their items. */
const MAX_RESPONSES = 500;
const MAX_CHARS = 8_000_000;
const ID = /^resp_[0-9a-f]{32}$/;

/** Stores a response. Does nothing if the response is too large. */
export async function store(
  { caller, call, handler }: Input,
  response: ResponseObject,
  input: readonly Item[],
  previous: string | undefined,
): Promise<void> {
  const data = { response, input: [...input], ...(previous !== undefined && { previous }) };
  // A larger response is not stored, because its conversation would usually be too long for `earlierItems`.
  if (JSON.stringify(data).length > MAX_CHARS) return;
  await handler.sendMessage(
    {
      message: {
        kind: 'message',
        messageId: randomUUIDv7(),
        role: 'user',
        contextId: response.id,
        // All of the data comes from JSON, so the copy through JSON changes only its TypeScript type.
        parts: [{ kind: 'data', data: JSON.parse(JSON.stringify(data)) }],
      },
      metadata: { model: String(response['model']), api_type: 'response' },
    },
    ownCall(caller, call),
  );
}

/** Returns a stored response, or undefined if it does not exist or cannot be read. */
export async function stored(
  { caller, call, handler }: Input,
  id: string,
): Promise<Stored | undefined> {
  const task = await taskOf(handler, id, ownCall(caller, call));
  const part = task?.history?.[0]?.parts[0];
  return part?.kind === 'data' ? Stored.safeParse(part.data).data : undefined;
}

/** Deletes a stored response. Returns false if it does not exist. */
export async function removeStored({ caller, call, handler }: Input, id: string): Promise<boolean> {
  const own = ownCall(caller, call);
  const task = await taskOf(handler, id, own);
  if (task) await handler.removeTask({ id: task.id }, own);
  return task !== undefined;
}

/**
 * Returns the items of a response and of all responses before it, oldest first. Returns no items if `id` is undefined.
 * Throws `invalidParams` if one of the responses is not stored, or if the conversation is too long.
 */
export async function earlierItems(input: Input, id: string | undefined): Promise<readonly Item[]> {
  const turns: (readonly Item[])[] = [];
  let chars = 0;
  for (let next = id; next !== undefined;) {
    const found = await stored(input, next);
    if (!found) {
      const why = `there is no stored response with the id ${next.slice(0, 64)}: send the whole conversation as input`;
      throw invalidField('previous_response_id', why, 'PREVIOUS_RESPONSE_NOT_FOUND');
    }
    const turn = [...found.input, ...found.response.output];
    chars += JSON.stringify(turn).length;
    if (turns.push(turn) > MAX_RESPONSES || chars > MAX_CHARS) {
      throw invalidField('previous_response_id', 'the conversation is too long: start a new one');
    }
    next = found.previous;
  }
  return turns.toReversed().flat();
}

async function taskOf(handler: RequestHandler, contextId: string, call: Call) {
  if (!ID.test(contextId)) return undefined;
  const params = { contextId, pageSize: 1, historyLength: 1 };
  const { tasks } = await handler.listTasks(params, call, { total: false });
  return tasks[0];
}

function ownCall(caller: Input['caller'], call: Call): Call {
  return callWith(call, { user: caller.at(RESPONSES_TENANT) });
}
