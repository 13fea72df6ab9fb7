/**
 * Links in notifications. With a link, a person answers one tool call of a live session without a token.
 *
 * A link is signed with a key of this process. It is valid for a limited time, and only for one confirmation request of
 * its call. Opening the link (GET) only shows the call, because mail and chat programs open links for previews. Each
 * button of the page sends a POST to another link, which also contains the chosen option. With a link, a person can
 * only allow the call once, or reject it. A link cannot add rules, change content or answer questions in words. Other
 * clients can answer the call too, and the first answer counts.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { BoundedMap, expiryClock } from '../base/index.ts';
import { callsAwaitingAnswer } from '../coder/index.ts';
import { sameSecret, type JsonRoute, type RouteReply } from '../http/index.ts';
import { confirmationOf, OPTION, type ToolCall } from '../protocol/development-tool/index.ts';
import { A2AError } from '../protocol/index.ts';
import { callPage, messagePage } from './answer-page.ts';
import { startedLive, type Live } from './hub.ts';
import { OWN_CALL } from './session-task.ts';

/** How long a link is valid. */
const LINK_MS = 30 * 60_000;
const PATH = '/session/answers';
/** The name of the client that sends the answers of links. */
const NAME = 'link';
const MAX_LINK_CHARS = 2048;
/** Maximum size of a form's body. The form has no fields. */
const MAX_BODY_BYTES = 1024;
/**
 * Maximum number of confirmation requests that are remembered as answered by a link. If a link to an older request is
 * used again, it has no effect, because the call already has its answer.
 */
const MAX_USED = 1000;

/** The options that a link may choose. */
const OPTIONS: ReadonlySet<string> = new Set([OPTION.once, OPTION.cancel]);

interface Bound {
  readonly call: string;
  readonly request: string;
  /** The option, or an empty string if the link only shows the call. */
  readonly option: string;
  readonly until: number;
}

export interface AnswerLinksOptions {
  /** Returns the live session, or undefined if it has not started yet. */
  readonly live: () => Live | undefined;
  readonly now?: (() => number) | undefined;
}

export class AnswerLinks {
  readonly #options: AnswerLinksOptions;
  readonly #now: () => number;
  readonly #used = new BoundedMap<true>(MAX_USED);
  #key = randomBytes(32);

  constructor(options: AnswerLinksOptions) {
    this.#options = options;
    this.#now = options.now ?? expiryClock();
  }

  /** Returns the path of a link that shows the call, or undefined if a link cannot answer the call. */
  pathFor(call: ToolCall): string | undefined {
    const { tool_call_id, correlationId } = call;
    if (correlationId === undefined || optionsOf(call).length === 0) return undefined;
    const until = this.#now() + LINK_MS;
    return this.#sign({ call: tool_call_id, request: correlationId, option: '', until });
  }

  /** Invalidates all links. */
  withdraw(): void {
    this.#key = randomBytes(32);
  }

  get routes(): readonly JsonRoute[] {
    const route = {
      path: `${PATH}/{link}`,
      public: true,
      maxBodyBytes: MAX_BODY_BYTES,
      error: ({ httpStatus, message }: A2AError) => messagePage(httpStatus, `${message}.`),
    };
    return [
      { ...route, verb: 'GET', handle: ({ values }) => this.#show(values['link'] ?? '') },
      {
        ...route,
        verb: 'POST',
        form: true,
        handle: ({ values }) => this.#decide(values['link'] ?? ''),
      },
    ];
  }

  #sign(bound: Bound): string {
    const { call, request, option, until } = bound;
    const text = Buffer.from(JSON.stringify([call, request, option, until])).toString('base64url');
    return `${PATH}/${text}.${this.#mac(text)}`;
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }

  /** Returns the content of a link. Throws `notFound` if the link is not valid or has expired. */
  #read(link: string): Bound {
    const [text = '', mac = ''] = link.slice(0, MAX_LINK_CHARS).split('.');
    if (!sameSecret(mac, this.#mac(text))) throw expired();
    // The signature is valid, so this process has made the text.
    const [call, request, option, until] = JSON.parse(
      Buffer.from(text, 'base64url').toString(),
    ) as [string, string, string, number];
    if (until <= this.#now()) throw expired();
    return { call, request, option, until };
  }

  async #show(link: string): Promise<RouteReply> {
    const bound = this.#read(link);
    const call = await this.#find(bound);
    if (!call) return messagePage(410, 'This question was answered already.');
    const buttons = optionsOf(call).map(({ id, name }) => ({
      id,
      name,
      // Relative to the page, because a proxy may serve the session below a path.
      action: this.#sign({ ...bound, option: id }).slice(PATH.length + 1),
    }));
    return callPage(call, buttons);
  }

  async #decide(link: string): Promise<RouteReply> {
    const { call, request, option } = this.#read(link);
    if (!OPTIONS.has(option)) throw new A2AError('verbNotAllowed');
    if (this.#used.get(request)) return messagePage(410, 'This link was used already.');
    this.#used.set(request, true);
    try {
      await this.#confirm(call, request, option);
    } catch (error) {
      // The answer was not accepted, so the link can be used again.
      this.#used.delete(request);
      // Another client was faster, the turn has ended, or the session is full.
      if (error instanceof A2AError)
        return messagePage(error.kind === 'unavailable' ? 503 : 410, `Not sent: ${error.message}.`);
      throw error;
    }
    return messagePage(200, option === OPTION.cancel ? 'Rejected.' : 'Allowed once.');
  }

  async #confirm(call: string, request: string, option: string): Promise<void> {
    const member = startedLive(this.#options).join({ kind: 'a2a', name: NAME, roles: ['approve'] });
    try {
      const ids = { tool_call_id: call, correlationId: request };
      await member.confirm(confirmationOf(ids, option));
    } finally {
      await member.close();
    }
  }

  async #find({ call, request }: Bound): Promise<ToolCall | undefined> {
    const { handler, taskId } = startedLive(this.#options);
    const task = await handler.getTask({ id: taskId }, OWN_CALL);
    return callsAwaitingAnswer(task).find(
      ({ tool_call_id, correlationId }) => tool_call_id === call && correlationId === request,
    );
  }
}

function optionsOf({ confirmation_request: request }: ToolCall) {
  return request?.options.filter(({ id }) => OPTIONS.has(id)) ?? [];
}

function expired(): A2AError {
  return new A2AError('notFound', 'This link is not valid, or it has expired');
}
