import { StatusError } from '../../kernel/status.ts';

/** The client's error fields besides the message. */
interface S3Error extends Error {
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

const GONE = new Set(['NoSuchKey', 'NoSuchUpload', 'NotFound']);
const WRONG_CREDENTIALS = new Set(['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'InvalidToken', 'ExpiredToken']);
const WRONG_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);
const NO_CREDENTIALS = 'CredentialsProviderError';
const NO_BUCKET = 'NoSuchBucket';

/**
 * Reports whether the store's error means that the object does not exist. A missing bucket is a wrong setting instead.
 */
export function isGone(error: unknown): boolean {
  return GONE.has((error as S3Error).name);
}

/** Reports whether the bucket is missing, from an error of its methods. */
export function isBucketGone(error: unknown): boolean {
  return ((error as Error).cause as S3Error | undefined)?.name === NO_BUCKET;
}

/** Returns the error for callers. The log has the cause. */
export function storeAway(cause: unknown): StatusError {
  const sentence = 'The off-site backup store is not responding correctly. Try again later.';
  return new StatusError('UNAVAILABLE', 'BACKUP_STORE_AWAY', sentence, { cause, retryAfterSeconds: 60 });
}

/**
 * Returns the problem of the settings with a remedy; undefined if the store is unreachable or busy, which is not their
 * fault.
 */
export function wrongSetting(answer: unknown, { bucket, endpoint, action }: Checked): string | undefined {
  const error = answer as S3Error;
  const status = error.$metadata?.httpStatusCode ?? 0;
  const isRefused = status >= 400 && status < 500;
  const where = endpoint === '' ? "Amazon's S3" : endpoint;
  if (error.name === NO_CREDENTIALS)
    return 'BACKUP_STORE needs credentials: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.';
  if (error.name === NO_BUCKET || (error.name === 'NotFound' && action === 'list'))
    return `There is no bucket "${bucket}" at ${where}: create it, or correct BACKUP_STORE or S3_ENDPOINT.`;
  if (WRONG_CREDENTIALS.has(error.name) || (isRefused && /access key/i.test(error.message)))
    return `${where} does not accept S3_ACCESS_KEY_ID with S3_SECRET_ACCESS_KEY (${error.name}): correct them.`;
  if (WRONG_REGION.has(error.name) || status === 301)
    return `The bucket "${bucket}" is not in the region of S3_REGION (${error.message}): correct S3_REGION.`;
  if (status === 403) {
    return `The credentials may not ${action} in the bucket "${bucket}" at ${where}: allow them s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts, s3:ListBucket and s3:ListBucketMultipartUploads.`;
  }
  if (isRefused && status !== 408 && status !== 429)
    return `${where} refuses to ${action} in the bucket "${bucket}": ${error.name}, ${error.message}`;
  return undefined;
}

interface Checked {
  bucket: string;
  endpoint: string;
  action: Doing;
}

/** The attempted operation. */
export type Doing = 'read' | 'write' | 'delete' | 'list';
