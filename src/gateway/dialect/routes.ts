/**
 * The routes of the dialect, the gateway's own REST API. It serves the same tasks as A2A, in another format.
 *
 *   POST /a2a/tasks/send           {sessionId?, taskId?, message, metadata?, expiresAt?}   {task}, when it has stopped
 *   POST /a2a/tasks/sendSubscribe  the same, or {taskId} to follow a task                  events (frames.ts)
 *   GET  /a2a/tasks/{taskId}                                                               {task}
 *   POST /a2a/tasks/cancel         {taskId}                                                {task}
 *
 * To resume a broken stream, a client sends the same body with the same `message.messageId`, or only the `taskId`. In
 * `Last-Event-ID` or `?after=`, it sends the id of the last event that it received.
 */
import { A2AError, type Call, type SendResult } from '../../protocol/index.ts';
import { lastEventId } from '../../http/index.ts';
import { callWith } from '../../tasks/index.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { dialectError, type TaskAction } from './conflict.ts';
import { createFrames } from './frames.ts';
import {
  CancelBody,
  DialectEvent,
  SendBody,
  SubscribeBody,
  SubscribeQuery,
  TaskAnswer,
} from './schema.ts';
import { dialectTask, paramsOf } from './translation.ts';

const task = { description: 'The task', schema: TaskAnswer };
const conflict = { description: 'The state of the task does not allow this action' };

export function dialectRoutes(): GatewayRoute[] {
  const frame = createFrames();
  return [
    defineRoute({
      verb: 'POST',
      path: '/a2a/tasks/send',
      scope: 'tasks:write',
      resource: 'task',
      summary: 'Start or continue a task, and wait until it stops',
      body: SendBody,
      answers: { 200: task, 409: conflict },
      async handle({ body, call, handler }) {
        checkExpiry(body);
        const sent = handler.sendMessage(paramsOf(body), inDialect(call));
        return answer(await translated(sent, body.taskId, 'message'));
      },
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/tasks/sendSubscribe',
      scope: 'tasks:write',
      resource: 'task',
      events: true,
      summary: 'Start, continue or follow a task, and stream its events',
      detail:
        'The type of the last event is completed, failed, cancelled or input-required. To resume, send the same ' +
        'message.messageId or only the taskId, with the last event id in Last-Event-ID.',
      query: SubscribeQuery,
      body: SubscribeBody,
      answers: {
        200: {
          description: 'Server-sent events. The `data` of each event has this schema',
          contentType: 'text/event-stream',
          schema: DialectEvent,
        },
        409: conflict,
      },
      async handle(input) {
        const { body, call, handler } = input;
        const { message, taskId } = body;
        checkExpiry(body);
        const seen = lastEventId(input, input.query.after) ?? 0;
        const own = inDialect(call);
        if (message === undefined) {
          return { stream: await handler.subscribe({ id: taskId ?? '', after: seen }, own), frame };
        }
        // `seen` has an effect only if the client repeats a message. In this case, the events after `seen` are
        // replayed.
        const sent = handler.streamMessage(paramsOf({ ...body, message }), own, seen);
        return { stream: await translated(sent, taskId, 'message'), frame };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/tasks/{taskId}',
      scope: 'tasks:read',
      resource: 'task',
      summary: 'Get a task',
      answers: { 200: task },
      async handle({ values, call, handler }) {
        const id = values['taskId'] ?? '';
        const got = await handler.getTask({ id }, inDialect(call));
        // The time is read only for a working task, because no other task can have an artifact event after its last
        // status.
        const isWorking = got.status.state === 'working';
        const artifactAt = isWorking ? await handler.updatedAt({ id }, call) : undefined;
        return { body: { task: dialectTask(got, artifactAt) } };
      },
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/tasks/cancel',
      scope: 'tasks:write',
      resource: 'task',
      summary: 'Cancel an unfinished task',
      body: CancelBody,
      answers: { 200: task, 409: conflict },
      async handle({ body: { taskId }, call, handler }) {
        const canceled = handler.cancelTask({ id: taskId }, inDialect(call));
        return answer(await translated(canceled, taskId, 'cancel'));
      },
    }),
  ];
}

/**
 * Returns the call without its A2A version. Such a call gets the dialect's view of a task, in which the last message
 * repeats the model's answer (tasks/executor.ts).
 */
function inDialect(call: Call): Call {
  return callWith(call, { version: undefined });
}

function answer(result: SendResult) {
  if (result.kind !== 'task') throw new TypeError('expected a task, got a message');
  return { body: { task: dialectTask(result) } };
}

/** Returns the handler's result. Converts errors about the task `taskId` to errors of the dialect. */
async function translated<Result>(
  work: Promise<Result>,
  taskId: string | undefined,
  action: TaskAction,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw taskId === undefined ? error : dialectError(error, action);
  }
}

/** Throws if the request sets `expiresAt` for an existing task. It can be set only when a task starts. */
function checkExpiry({ taskId, expiresAt }: Pick<SendBody, 'taskId' | 'expiresAt'>): void {
  if (taskId === undefined || expiresAt === undefined) return;
  const message = 'expiresAt: can be set only when a task starts; leave it out';
  throw new A2AError('invalidParams', message);
}
