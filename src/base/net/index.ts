export { guardedRequest } from './guarded-request.ts';
export { AddressError, literalAddress, networkGuard } from './network-guard.ts';
