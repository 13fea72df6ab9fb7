/**
 * Makes one tool call. The result is an event with the tool's response or with a question.
 *
 * An error becomes the response, so that the model can correct its call. A call that was active when the process died
 * is not repeated, because its effects are unknown.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import { Changes } from '../run/changes.ts';
import type { Content, FunctionResponsePart } from '../content.ts';
import { messageOf } from '../errors.ts';
import type { Actions, Event, Question } from '../event.ts';
import { firstResult, type ToolInvocation, type ToolResult } from '../plugin.ts';
import { DONE, type RunScope } from '../run/run-context.ts';
import type { Asks, OpenCall } from '../run/run-index.ts';
import { toolServices } from '../run/run.ts';
import { toJson } from '../storage-error.ts';
import { jsonResponse } from '../tool-result.ts';
import { RichResponse, Waiting, type Tool, type ToolContext } from '../tool.ts';

/** Maximum length of a response in characters of JSON. Models cannot read more. */
const MAX_RESPONSE = 1_000_000;

export interface CallSetup {
  readonly scope: RunScope;
  readonly call: OpenCall;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Whether the call was made since the run was started or resumed. */
  readonly isNew: boolean;
  readonly history: () => readonly Content[];
  readonly progress: (value: JsonValue) => void;
}

/** Returns the event with the call's response or question. Throws only when the run is aborted. */
export async function settleCall(setup: CallSetup): Promise<Event> {
  const { scope, call, tools, isNew } = setup;
  const { part, question, answer } = call;
  const work = new CallWork(setup);
  if (!isNew) {
    if (question && !answer) return work.askAgain(question);
    if (!question || call.unused !== true) {
      return work.failed('outcome unknown: the process ended while this call was being made');
    }
    if (call.asks === 'response') return work.responded({ response: answer?.value ?? null });
    if (call.confirmation && call.confirmation.confirmed !== true) {
      const { value } = call.confirmation;
      return work.failed(
        typeof value === 'string' && value !== ''
          ? `the person declined this call: ${value}`
          : 'the person declined this call',
      );
    }
  }
  if (part.problem !== undefined) return work.failed(part.problem);
  const tool = tools.get(part.name);
  if (!tool) {
    const names = [...tools.keys()].join(', ') || 'none';
    return work.failed(`there is no tool ${part.name}; the tools are: ${names}`);
  }
  try {
    return await work.run(tool);
  } catch (error) {
    if (scope.signal.aborted) throw error;
    return work.failed(messageOf(error));
  }
}

class CallWork {
  readonly #setup: CallSetup;
  readonly #changes: Changes;
  /** The JSON arguments, before the schema converts them. */
  #args: JsonObject = {};
  #transferTo: string | undefined;
  #escalates = false;

  constructor(setup: CallSetup) {
    this.#setup = setup;
    const { inner } = setup.scope;
    this.#changes = new Changes(inner.readState, inner.artifacts);
  }

  async run(tool: Tool): Promise<Event> {
    const { scope, call, isNew } = this.#setup;
    const { hooks } = scope;
    const { id } = call.part;
    this.#args = call.confirmation?.args ?? call.part.args;
    let args = tool.parse ? tool.parse(this.#args) : this.#args;
    const context = this.#context(tool);
    const decided = await firstResult(hooks, 'beforeTool', (hook) =>
      hook({ id, tool, args }, context),
    );
    if (decided && 'result' in decided) return this.responded(asJson(decided.result));
    if (decided) args = this.#args = decided.args;
    if (isNew) {
      const asked = await this.#confirmation(tool, args, context);
      if (asked) return asked;
    }
    const made: ToolInvocation = { id, tool, args };
    let result: ToolResult;
    let rich: RichResponse | undefined;
    try {
      const returned = await tool.run(args, context);
      if (returned instanceof Waiting) return this.#ask(returned.question, 'tool');
      if (returned instanceof RichResponse) rich = storable(returned);
      const response = jsonResponse(rich ? rich.response : returned, MAX_RESPONSE);
      if (tool.longRunning === true) return this.#waitForResponse(tool, response);
      result = { response };
    } catch (error) {
      if (scope.signal.aborted) throw error;
      result = { response: messageOf(error), isError: true };
    }
    const other = await firstResult(hooks, 'afterTool', (hook) => hook(made, result, context));
    return this.responded(other ? asJson(other) : result, rich);
  }

  responded({ response, isError }: ToolResult, rich?: RichResponse): Event {
    const { scope, call } = this.#setup;
    const { id, name } = call.part;
    const part: FunctionResponsePart = {
      kind: 'function-response',
      id,
      name,
      response,
      ...(isError === true && { isError }),
      ...(rich && rich.parts.length > 0 && { parts: rich.parts }),
      ...(rich?.display !== undefined && { display: rich.display }),
    };
    const actions: Actions = {
      ...(this.#transferTo !== undefined && { transferTo: this.#transferTo }),
      ...(this.#escalates && { escalate: true, checkpoint: { path: scope.path, value: DONE } }),
    };
    return scope.event({
      content: { role: 'user', parts: [part] },
      actions: this.#changes.drainInto(actions),
    });
  }

  failed(message: string): Event {
    return this.responded({ response: message, isError: true });
  }

  /** Shows an open question again. The event is partial, because the question is already stored. */
  askAgain(question: Question): Event {
    return this.#setup.scope.event({ partial: true, actions: { questions: [question] } });
  }

  #ask(question: Question, asks: Asks): Event {
    toJson('question', question);
    return this.#setup.scope.event({
      actions: this.#changes.drainInto({ questions: [question] }),
      metadata: { asks },
    });
  }

  async #confirmation(
    tool: Tool,
    args: JsonObject,
    context: ToolContext,
  ): Promise<Event | undefined> {
    const wanted = (await tool.confirm?.(args, context)) ?? false;
    if (wanted === false) return undefined;
    const text = `May ${tool.name} be called with ${JSON.stringify(this.#args)}?`;
    const request = wanted === true ? { text } : wanted;
    return this.#ask(this.#question(tool, { kind: 'confirmation', ...request }), 'confirmation');
  }

  #waitForResponse(tool: Tool, detail: JsonValue): Event {
    const text = `${tool.name} is waiting for its result`;
    const more = detail === null ? {} : { detail };
    return this.#ask(this.#question(tool, { kind: 'input', text, ...more }), 'response');
  }

  #question(tool: Tool, asked: Partial<Question> & Pick<Question, 'kind' | 'text'>): Question {
    const { scope, call } = this.#setup;
    const { id } = call.part;
    return { tool: tool.name, args: this.#args, ...asked, id, agent: scope.agent.name };
  }

  #context(tool: Tool): ToolContext {
    const { scope, call, history, progress } = this.#setup;
    const { state, artifacts } = this.#changes;
    return {
      callId: call.part.id,
      runId: scope.runId,
      agent: scope.agent.name,
      session: scope.session,
      state,
      artifacts,
      signal: scope.signal,
      get history() {
        return history();
      },
      answer: call.asks === 'tool' ? call.answer : undefined,
      confirmation: call.confirmation,
      progress,
      ask: (question) => new Waiting(this.#question(tool, { kind: 'input', ...question })),
      transferTo: (agent) => void (this.#transferTo = agent),
      escalate: () => void (this.#escalates = true),
      services: toolServices(scope.inner.services, scope.place.depth),
    };
  }
}

function asJson({ response, isError }: ToolResult): ToolResult {
  return {
    response: jsonResponse(response, MAX_RESPONSE),
    ...(isError !== undefined && { isError }),
  };
}

/**
 * Checks that the files and the display value of the response can be stored. Otherwise throws an error, which becomes
 * the response to the model.
 */
function storable(rich: RichResponse): RichResponse {
  toJson('display', rich.display ?? null);
  toJson('files', rich.parts);
  return rich;
}
