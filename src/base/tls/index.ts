export { addressesOf, makeSelfSigned, openOwnCertificate } from './self-signed.ts';
