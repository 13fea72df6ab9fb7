/** The calls that budgets count: who pays for them, what they call, and what they use. */
import type { Pricing } from '../cards/schema.ts';

/** The caller that a call is charged to. */
export interface PayingCaller {
  readonly workspace: string;
  readonly keyId?: string | undefined;
  /** The subject of the JWT, for a caller without a key. */
  readonly subject?: string | undefined;
}

/** The usage of one call. */
export interface CallUse {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Cost of the call, or undefined if there is no price. */
  readonly cost?: Money | undefined;
  /** True if the call failed before its answer or in the middle of it. False if the caller canceled the call. */
  readonly failed?: boolean | undefined;
}

/** A call that is counted without a reservation: its caller, its model or agent, its task and its usage. */
export interface Use extends PayingCaller, CallUse, CallOrigin {}

/** The model or agent that is called, and the task that the call belongs to. */
interface CallOrigin {
  readonly model?: string | undefined;
  readonly agent?: string | undefined;
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
}

export interface Money {
  readonly amount: number;
  /** The currency code of ISO 4217. */
  readonly currency: string;
}

/** A call that is about to be made, to a model or an agent. */
export interface PlannedCall extends CallOrigin {
  readonly caller: PayingCaller;
  readonly pricing?: Pricing | undefined;
  /** Counts the tokens of the prompt. Only called if there is a budget. */
  readonly prompt: () => number;
  /**
   * Maximum number of tokens in the answer, according to the request and the limits of the model. Undefined if neither
   * sets a maximum. Zero for embeddings and for calls to agents.
   */
  readonly maxOutputTokens?: number | undefined;
  /** The cost of a call that has no price per token. */
  readonly cost?: Money | undefined;
}
