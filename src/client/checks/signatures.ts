/** Checks the signatures of a card: one by one (`verifySignatures`), or all together (`checkSignature`). */
import { isObject } from '../../base/index.ts';
import { CardSignatureError, type CardSignatureProblem } from '../connection/errors.ts';
import { type PublicJwk, readJwsHeader } from '../connection/jws.ts';
import { verifyCard } from '../connection/verify-card.ts';
import { type AgentCheck, doubtful, fine, type ProblemName, wrong } from './check.ts';

/** The result of the verification of one signature. */
export interface SignatureResult {
  /** The fields of the signature's header. They are undefined if they are missing, or if the header cannot be read. */
  readonly alg: string | undefined;
  readonly kid: string | undefined;
  readonly jku: string | undefined;
  /** `valid`, or why the signature was not accepted. */
  readonly outcome: 'valid' | CardSignatureProblem;
  /** The reason in words. Empty for a valid signature. */
  readonly message: string;
  /** For a valid signature, the address of the key set that has the key. Undefined if the key was given in `keys`. */
  readonly keysAt: string | undefined;
}

interface Verification {
  /** The keys that are trusted. By default, those that the agent's own server publishes. */
  readonly keys?: readonly PublicJwk[] | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Maximum number of signatures that are verified. */
const MAX_SIGNATURES = 16;

/** Verifies each signature of a card. `raw` is the card as it was received from `url`. */
export async function verifySignatures(
  raw: unknown,
  url: string,
  options: Verification = {},
): Promise<SignatureResult[]> {
  const signatures = isObject(raw) && Array.isArray(raw['signatures']) ? raw['signatures'] : [];
  const results: SignatureResult[] = [];
  for (const signature of signatures.slice(0, MAX_SIGNATURES)) {
    const { alg, kid, jku } = headerOf(signature) ?? {};
    const one = isObject(raw) ? { ...raw, signatures: [signature] } : raw;
    results.push({ alg, kid, jku, ...(await verified(one, url, options)) });
  }
  return results;
}

function headerOf(signature: unknown) {
  const text = isObject(signature) ? signature['protected'] : undefined;
  return typeof text === 'string' ? readJwsHeader(text) : undefined;
}

async function verified(
  raw: unknown,
  url: string,
  { keys, fetch, signal }: Verification,
): Promise<Pick<SignatureResult, 'outcome' | 'message' | 'keysAt'>> {
  try {
    const { jku } = await verifyCard(raw, url, keys ? { keys } : true, { fetch, signal });
    return { outcome: 'valid', message: '', keysAt: jku };
  } catch (error) {
    if (!(error instanceof CardSignatureError)) throw error;
    return { outcome: error.reason, message: error.message, keysAt: undefined };
  }
}

const PROBLEMS: Readonly<Partial<Record<CardSignatureProblem, ProblemName>>> = {
  untrusted: 'untrusted-key',
  invalid: 'invalid-signature',
  unavailable: 'no-keys',
};

/** Checks that a card has a valid signature. An unsigned card is an error only with `keys`. */
export async function checkSignature(
  raw: unknown,
  url: string,
  options: Verification = {},
): Promise<AgentCheck> {
  const name = 'signature';
  const { keys, ...rest } = options;
  try {
    const trust = keys ? { keys } : true;
    const { alg, kid, jku } = await verifyCard(raw, url, trust, rest);
    const key = kid === undefined ? 'the key' : `the key ${kid}`;
    return fine(name, `valid: ${alg}, ${key}${jku === undefined ? '' : ` of ${jku}`}`);
  } catch (error) {
    if (!(error instanceof CardSignatureError)) throw error;
    const problem = PROBLEMS[error.reason];
    if (keys) return wrong(name, error.message, problem);
    if (error.reason === 'unsigned') return fine(name, 'unsigned');
    // The user decides whether to trust the signer, so this is only a warning.
    return error.reason === 'untrusted'
      ? doubtful(name, 'no signature by a key that the server publishes', problem)
      : wrong(name, error.message, problem);
  }
}
