export { addressesOf, makeSelfSigned } from './self-signed.ts';
export { openOwnCertificate, type OwnCertificate } from './own-certificate.ts';
