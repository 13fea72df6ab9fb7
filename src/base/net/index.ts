export { fetchNamedBy, guardedFetch, isNamedFreely } from './guarded-fetch.ts';
export { guardedRequest } from './guarded-request.ts';
export { AddressError, literalAddress, networkGuard, type NetworkGuard } from './network-guard.ts';
