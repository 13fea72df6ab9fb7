export { fetchNamedBy, guardedFetch } from './guarded-fetch.ts';
export { guardedRequest } from './guarded-request.ts';
export { AddressError, literalAddress, networkGuard } from './network-guard.ts';
