// An eureka-js-client with short intervals, that keeps its log to itself. Used by story.js and decode.js.
'use strict';

const { Eureka } = require('eureka-js-client');

exports.VERSION = require('eureka-js-client/package.json').version;

const silent = { error() {}, warn() {}, info() {}, debug() {}, level() {} };

// `settings` go into the part of the configuration that is about the registry, `more` beside it.
exports.client = (instance, settings, more) => {
  const url = `${process.env.EUREKA_URL}/apps/`;
  return new Eureka({
    logger: silent,
    instance,
    eureka: {
      serviceUrls: { default: [url] },
      heartbeatInterval: 400,
      registryFetchInterval: 300,
      maxRetries: 1,
      requestRetryDelay: 100,
      ...settings,
    },
    ...more,
  });
};

// A method of the client that takes a callback, as a promise.
exports.done = (client, method) =>
  new Promise((resolve, reject) => client[method]((error) => (error ? reject(error) : resolve())));
