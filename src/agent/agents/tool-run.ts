/**
 * Makes one tool call in two steps: `prepare` checks the call and asks for its confirmation, and `run` runs the tool.
 * `run` returns an event with the tool's response or with a question. `prepare` also returns such an event, but only
 * for a call that must wait for an answer or will not run.
 *
 * An error becomes the response, so that the model can correct its call. A call that was active when the process
 * ended is not repeated, because its effects are unknown.
 */
import { defined, type JsonObject, type JsonValue } from '../../base/index.ts';
import { workFor } from '../delegated.ts';
import { Changes } from '../run/changes.ts';
import type { Content, FunctionResponsePart } from '../content.ts';
import type { Actions, Event, Question } from '../event.ts';
import type { ToolInvocation, ToolResult } from '../plugin.ts';
import { DONE, firstResult, type RunScope } from '../run/run-context.ts';
import type { Asks, OpenCall } from '../run/run-index.ts';
import { toolServices } from '../run/run.ts';
import { declined, isDeclined, outcomeUnknown } from '../run/stopped-calls.ts';
import { storedEvents } from '../run/open-run.ts';
import { runTool } from '../spans.ts';
import { toJson } from '../storage-error.ts';
import { failedResponse, ToolError, type ToolErrorType } from '../tool-error.ts';
import { jsonResponse } from '../tool-result.ts';
import { RichResponse, Waiting, type Tool, type ToolContext } from '../tool.ts';

/**
 * Maximum length of any response, in characters of its text or JSON. Tools made with `tool`, and MCP tools, have a
 * lower limit.
 */
const MAX_RESPONSE = 1_000_000;

export interface CallSetup {
  readonly scope: RunScope;
  readonly call: OpenCall;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Whether the call may have been active when an earlier process ended. Such a call is not repeated. */
  readonly mayHaveBegun: boolean;
  readonly history: () => readonly Content[];
  readonly progress: (value: JsonValue) => void;
  /** Shows an event of an agent that runs as this tool. Resolves when the reader has received the event. */
  readonly show: (event: Event) => Promise<void>;
}

/**
 * A call that is ready to run. If the tool has a function `parse`, `parse` has checked the arguments. Arguments from a
 * `beforeTool` hook are not checked.
 */
interface ReadyCall extends ToolInvocation {
  readonly context: ToolContext;
}

export class CallWork {
  readonly #setup: CallSetup;
  readonly #changes: Changes;
  /**
   * The arguments that questions show: the arguments that a `beforeTool` hook has returned, or else the arguments in
   * the person's confirmation, or else the model's arguments before `parse`.
   */
  #args: JsonObject = {};
  #ready: ReadyCall | undefined;
  #transferTo: string | undefined;
  #escalates = false;

  constructor(setup: CallSetup) {
    this.#setup = setup;
    const { inner } = setup.scope;
    this.#changes = new Changes(inner.readState, inner.artifacts);
  }

  /**
   * Checks the call and asks for its confirmation. Returns undefined if the call can run. Otherwise returns the event
   * with the question, or with the response if the call will not run. Throws only when the run is aborted or the
   * session store fails.
   */
  async prepare(): Promise<Event | undefined> {
    const { scope, call, tools, mayHaveBegun } = this.#setup;
    const { part, question, answers = [] } = call;
    if (question && answers.length === 0) {
      // The event is partial, because the questions are already stored.
      const questions = scope.inner.index.questionsOf(part.id);
      return scope.event({ partial: true, actions: { questions } });
    }
    if (isDeclined(call)) return this.#failed(declined(call));
    if (mayHaveBegun) {
      const work = await this.#abandon();
      return this.#failed(outcomeUnknown(work));
    }
    if (answers[0] && call.asks === 'response') {
      return this.#responded({ response: answers[0].value ?? null });
    }
    if (part.problem !== undefined) {
      return this.#failed(new ToolError('invalid_arguments', part.problem));
    }
    const tool = tools.get(part.name);
    if (!tool) {
      const names = [...tools.keys()].join(', ') || 'none';
      const message = `there is no tool ${part.name}; the tools are: ${names}`;
      return this.#failed(new ToolError('not_found', message));
    }
    try {
      return await this.#check(tool);
    } catch (error) {
      if (scope.signal.aborted) throw error;
      return this.#failed(error);
    }
  }

  async #check(tool: Tool): Promise<Event | undefined> {
    const { scope, call } = this.#setup;
    const { id } = call.part;
    this.#args = call.confirmation?.args ?? call.part.args;
    let args = this.#args;
    try {
      args = tool.parse?.(this.#args) ?? args;
    } catch (error) {
      return this.#failed(error, 'invalid_arguments');
    }
    const context = this.#context(tool);
    const decided = await firstResult(scope.hooks, 'beforeTool', (hook) =>
      hook({ id, tool, args }, context),
    );
    if (decided && 'result' in decided) return this.#responded(asJson(decided.result));
    if (decided) args = this.#args = decided.args;
    if (!call.question) {
      const asked = await this.#confirmation(tool, args, context);
      if (asked) return asked;
    }
    this.#ready = { id, tool, args, context };
    return undefined;
  }

  /** Runs the prepared call. Returns the event with its response or question. Throws only when the run is aborted. */
  async run(): Promise<Event> {
    const { scope } = this.#setup;
    if (!this.#ready) throw new TypeError('the call is not prepared');
    const { context, ...made } = this.#ready;
    const { tool, args } = made;
    try {
      let result: ToolResult;
      let rich: Shown | undefined;
      try {
        const returned = await runTool(tool, args, context);
        if (returned instanceof Waiting) return this.#ask(returned.questions, 'tool');
        if (returned instanceof RichResponse) rich = storable(returned);
        const response = jsonResponse(
          returned instanceof RichResponse ? returned.response : returned,
          MAX_RESPONSE,
        );
        if (tool.longRunning === true) return this.#waitForResponse(tool, response);
        result = { response };
      } catch (error) {
        if (scope.signal.aborted) throw error;
        const { display, ...failed } = failedResponse(error);
        if (display !== undefined) rich = { display };
        result = asJson(failed);
      }
      const other = await firstResult(scope.hooks, 'afterTool', (hook) =>
        hook(made, result, context),
      );
      return this.#responded(other ? asJson(other) : result, rich);
    } catch (error) {
      if (scope.signal.aborted) throw error;
      return this.#failed(error);
    }
  }

  #responded({ response, isError, error }: ToolResult, rich?: Shown): Event {
    const { scope, call } = this.#setup;
    const { id, name } = call.part;
    const part: FunctionResponsePart = {
      kind: 'function-response',
      id,
      name,
      response,
      ...(isError === true && { isError, error: error ?? { type: 'tool_error' } }),
      ...(rich?.parts && rich.parts.length > 0 && { parts: rich.parts }),
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

  #failed(error: unknown, type?: ToolErrorType): Event {
    const { display, ...failed } = failedResponse(error, type);
    return this.#responded(asJson(failed), display === undefined ? undefined : { display });
  }

  /**
   * Ends work that a call has started elsewhere, because the call itself will not continue. Returns a summary of the
   * work if an agent ran as this tool, and otherwise an empty text.
   */
  async #abandon(): Promise<string> {
    const { scope, call, tools } = this.#setup;
    const { runId, session, events, signal, inner } = scope;
    const { store: sessions } = inner.services;
    const { id: callId, name } = call.part;
    const tool = tools.get(name);
    if (!tool?.cancel) return '';
    const shown = await storedEvents(sessions, session, runId, call);
    try {
      await tool.cancel(callId, { runId, session, events, sessions, signal });
    } catch {
      // An error is ignored, because the call might not have started any work.
    }
    return workFor(callId, shown);
  }

  #ask(questions: readonly Question[], asks: Asks): Event {
    for (const question of questions) toJson('question', question);
    return this.#setup.scope.event({
      actions: this.#changes.drainInto({ questions }),
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
    return this.#ask([this.#question(tool, { kind: 'confirmation', ...request })], 'confirmation');
  }

  #waitForResponse(tool: Tool, detail: JsonValue): Event {
    const text = `${tool.name} is waiting for its result`;
    const more = detail === null ? {} : { detail };
    return this.#ask([this.#question(tool, { kind: 'input', text, ...more })], 'response');
  }

  #question(tool: Tool, asked: Partial<Question> & Pick<Question, 'kind' | 'text'>): Question {
    const { scope, call } = this.#setup;
    const { id } = call.part;
    return { tool: tool.name, args: this.#args, ...asked, id, agent: scope.agent.name };
  }

  #context(tool: Tool): ToolContext {
    const { scope, call, history, progress, show } = this.#setup;
    const { state, artifacts } = this.#changes;
    const answers = call.asks === 'tool' ? (call.answers ?? []) : [];
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
      answer: answers[0],
      confirmation: call.confirmation,
      progress,
      ask: (question) => new Waiting(this.#question(tool, { kind: 'input', ...question })),
      transferTo: (agent) => void (this.#transferTo = agent),
      escalate: () => void (this.#escalates = true),
      services: toolServices({
        services: scope.inner.services,
        depth: scope.place.depth,
        inbox: scope.inner.inbox,
        answers,
        show,
      }),
    };
  }
}

function asJson({ response, isError, error }: ToolResult): ToolResult {
  return { response: jsonResponse(response, MAX_RESPONSE), ...defined({ isError, error }) };
}

/** The additions to a response: files for the model, and a value that is shown to people instead of the response. */
type Shown = Partial<Pick<RichResponse, 'parts' | 'display'>>;

/**
 * Throws an error if the files or the display value of the response cannot be stored. The model gets this error as the
 * response.
 */
function storable(rich: RichResponse): RichResponse {
  toJson('display', rich.display ?? null);
  toJson('files', rich.parts);
  return rich;
}
