type Json = Record<string, unknown>;

/** Where payment providers report, as OpenAPI paths: no operation, as the signature over its raw body is its credential. */
export function checkoutPaths(): Record<string, Json> {
  return {
    '/v1/public/checkout/{provider}': {
      post: {
        operationId: 'CheckoutCallback',
        tags: ['public'],
        summary: 'What a payment provider reports',
        description:
          'For the webhook of the configured provider, at most 256 KiB. Answered with `{}` once it is stored or of no ' +
          'concern; told again, it changes nothing.',
        security: [],
        parameters: [
          { name: 'provider', in: 'path', required: true, description: '`stripe`.', schema: { type: 'string' } },
          {
            name: 'stripe-signature',
            in: 'header',
            required: true,
            description: 'Over the raw body, as Stripe makes it.',
            schema: { type: 'string' },
          },
        ],
        requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
        responses: {
          '200': { description: 'Done.', content: { 'application/json': { schema: { type: 'object' } } } },
          default: { $ref: '#/components/responses/Error' },
        },
      },
    },
  };
}
