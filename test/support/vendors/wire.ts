/** What a vendor's fake has to be able to say, and to check. */
import type { VendorEnvironment } from '../../../src/agent/models/vendors.ts';

/** The page that a search finds, twice, after one whose address is not valid. */
export const SOURCE = { url: 'https://weather.example/paris?day=1', title: 'Weather in Paris' };

export interface Wire {
  /** As one writes it on the command line. */
  readonly model: string;
  readonly keyVariable: string;
  env(url: string, key: string): VendorEnvironment;
  /** Where the key is in a request. */
  readonly keyHeader: string;
  readonly path: string;
  /** Thinks "Let me see.", says "It is sunny.", in two pieces. 20 tokens in, 5 of them cached; 12 out, 4 of them thoughts. */
  readonly answer: readonly string[];
  /** Thinks "Both cities.", with a signature where the vendor has them, and calls get_weather for Paris and for Rome. */
  readonly calls: readonly string[];
  /** Thinks "Let me see.", with the signature of `calls`, and calls one tool. */
  call(name: string, args: object): readonly string[];
  /**
   * Searches the web, says "It is sunny.", and names the page SOURCE. Undefined where the vendor has no search. `tool` is
   * what a request for a search has among its tools.
   */
  readonly search?: { readonly events: readonly string[]; readonly tool: object };
  /** Calls get_weather with arguments that are not JSON; undefined where the wire cannot say that. */
  readonly badCall?: readonly string[];
  /** The vendor says in the middle of its stream that something went wrong. */
  readonly failing: readonly string[];
  /** An error's body. */
  error(status: number, message: string): unknown;
  /** Throws unless the request gives the calls and their responses back ("sunny" and an error "no such city"). */
  checkReturn(body: unknown): void;
}
