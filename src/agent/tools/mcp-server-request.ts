/**
 * The requests that an MCP server sends while it executes a call. They ask for a person's answer or for the model's
 * answer.
 *
 * People see a request as a separate call inside the call that the server executes, like the calls of an agent that
 * runs as a tool.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import type { CreateMessageResult } from '@modelcontextprotocol/client';
import type { FunctionCallPart, FunctionResponsePart } from '../content.ts';
import { delegatedId } from '../delegated.ts';
import { createEvent, type Answer, type EventFields, type Question } from '../event.ts';
import { surroundingsOf } from '../run/run.ts';
import type { Tool, ToolContext } from '../tool.ts';
import type { ElicitationReply, ServerQuestion } from './mcp-elicitation.ts';
import { samplingResult } from './mcp-sampling.ts';

/** Maximum number of times that a person is asked again after an invalid answer. */
const MAX_TRIES = 3;

/** A request of the server that is waiting for its answer. */
export interface ServerRequest {
  /** The id of the request's first question, without the prefix of the call. */
  readonly id: string;
  /**
   * Continues the request with a person's answer to its question. The first call has no answer. Returns the next
   * question, or undefined when the request has ended and the server has received its answer or an error.
   */
  proceed(context: ToolContext, answer: Answer | undefined): Promise<Question | undefined>;
  /** Ends the request without an answer. The server gets an error or, for a question, the action `cancel`. */
  refuse(reason: string): void;
}

/**
 * The error response to a request of the server that gets no answer. For every reason, the code is the one that MCP
 * defines for a request that the user rejected.
 */
export class Refusal extends Error {
  readonly code = -1;
}

/** Makes a request for a person's answer. */
export function elicitationRequest(
  server: string,
  id: string,
  asked: ServerQuestion,
  respond: (result: ElicitationReply) => void,
): ServerRequest {
  const name = 'elicitation';
  let tries = 0;
  /** Each question has its own id, so that the answer to one question is not used for a later question. */
  const ownId = () => (tries === 0 ? id : `${id}.${tries}`);
  const ask = (context: ToolContext, problem = ''): Question => ({
    id: delegatedId(context.callId, ownId()),
    callId: context.callId,
    kind: 'input',
    text: problem === '' ? asked.text : `${problem}\n${asked.text}`,
    agent: server,
    tool: name,
    args: asked.args,
    options: asked.options,
  });
  return {
    id,
    async proceed(context, answer) {
      const question = ask(context);
      if (answer?.questionId !== question.id) return question;
      const result = asked.read(answer);
      const by = { id: ownId(), name };
      if ('problem' in result) {
        await settle(context, server, { ...by, response: result.problem, isError: true });
        if (++tries <= MAX_TRIES) return ask(context, result.problem);
        respond({ action: 'cancel' });
        return undefined;
      }
      await settle(context, server, { ...by, response: result });
      respond(result);
      return undefined;
    },
    refuse: () => respond({ action: 'cancel' }),
  };
}

export interface SamplingRequest {
  readonly server: string;
  readonly id: string;
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly settle: Pick<PromiseWithResolvers<CreateMessageResult>, 'resolve' | 'reject'>;
}

/** Makes a request for the model's answer. `tool` decides whether a person is asked first. */
export function samplingRequest({
  server,
  id,
  tool,
  args,
  settle: respond,
}: SamplingRequest): ServerRequest {
  const { name } = tool;
  const failed = (context: ToolContext, response: string) =>
    settle(context, server, { id, name, response, isError: true });

  async function work(context: ToolContext, confirmation: Answer | undefined): Promise<void> {
    const progress = (value: JsonValue): void => {
      const fields = { partial: true, actions: { progress: { callId: id, value } } };
      // Errors are ignored, because progress is not needed after the run was aborted.
      show(context, server, fields).catch(() => undefined);
    };
    try {
      const own = { ...context, callId: delegatedId(context.callId, id), confirmation, progress };
      progress({ begun: true });
      const given = samplingResult(await tool.run(args, own));
      await settle(context, server, { id, name, response: given.text });
      respond.resolve(given.result);
    } catch {
      context.signal.throwIfAborted();
      // Neither the server nor the clients of the session learn the reason for the failure.
      const response = 'the model gave no answer';
      respond.reject(new Refusal(response));
      await failed(context, response);
    }
  }

  return {
    id,
    async proceed(context, answer) {
      const questionId = delegatedId(context.callId, id);
      if (answer?.questionId === questionId) {
        if (answer.confirmed === true) await work(context, answer);
        else {
          respond.reject(new Refusal('the user declined the request'));
          await failed(context, 'The user declined the request.');
        }
        return undefined;
      }
      let wanted: Awaited<ReturnType<NonNullable<Tool['confirm']>>>;
      try {
        wanted = (await tool.confirm?.(args, { ...context, callId: questionId })) ?? true;
      } catch (error) {
        respond.reject(new Refusal('the request is not allowed'));
        await announce(context, server, { id, name, args });
        await failed(context, error instanceof Error ? error.message : String(error));
        return undefined;
      }
      if (wanted === false) {
        await announce(context, server, { id, name, args });
        await work(context, undefined);
        return undefined;
      }
      const text = `May the MCP server ${server} use the model?`;
      const request = wanted === true ? { text } : wanted;
      const about = { id: questionId, callId: context.callId, agent: server, tool: name, args };
      return { kind: 'confirmation', ...request, ...about };
    },
    refuse: (reason) => respond.reject(new Refusal(reason)),
  };
}

/** Shows an event of the server's request in the run that made the call. The author of the event is the server. */
async function show(context: ToolContext, server: string, fields: EventFields): Promise<void> {
  const { runId, services } = context;
  await surroundingsOf(services)?.show(createEvent({ runId, author: server }, fields));
}

/** Shows a request that is allowed or refused without asking a person. */
function announce(
  context: ToolContext,
  server: string,
  call: Omit<FunctionCallPart, 'kind'>,
): Promise<void> {
  const part = { kind: 'function-call', ...call } as const;
  return show(context, server, { content: { role: 'model', parts: [part] } });
}

/** Shows the outcome of a request of the server, or the problem with an invalid answer to the request. */
function settle(
  context: ToolContext,
  server: string,
  outcome: Omit<FunctionResponsePart, 'kind'>,
): Promise<void> {
  const part = { kind: 'function-response', ...outcome } as const;
  return show(context, server, { content: { role: 'user', parts: [part] } });
}
