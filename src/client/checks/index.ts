/**
 * Checks of an agent: its card, its interfaces, the features that it declares, and its signatures. Runs in browsers
 * too.
 */
export { checkCard, nameOfInterface } from './card-rules.ts';
export { type AgentCheck, EXPLANATIONS, type ProblemName } from './check.ts';
export { declaredFeatures, describeSecurity } from './describe.ts';
export {
  checkCapabilities,
  type CheckedAgent,
  checkInterface,
  checkInterfaces,
  serviceOf,
} from './interfaces.ts';
export { checkSignature, type SignatureResult, verifySignatures } from './signatures.ts';
