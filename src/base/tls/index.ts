export { addressesOf, makeSelfSigned } from './self-signed.ts';
export { openOwnCertificate } from './own-certificate.ts';
